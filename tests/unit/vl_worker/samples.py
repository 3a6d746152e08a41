"""Answers in the form in which each model was seen to give them (sources in the profiles), with words of our own."""

GLM_TABLE = (
    '<table border="1"><tr><td>Category</td><td>Domain</td><td>Rule</td></tr>'
    '<tr><td rowspan="2">STEM</td><td>Math</td><td>√</td></tr><tr><td>Physics &amp; more</td><td></td></tr></table>'
)
GLM_TABLE_WITH_HEAD = (
    '<table class="table table-bordered"><thead><tr><th>项目</th><th>金额</th></tr></thead>'
    "<tbody><tr><td>收入</td><td>-342,273.79</td></tr></tbody></table>"
)
GLM_FORMULA = "$$\n\\frac{a}{b} + \\sum_{i=1}^{n} x_i\n$$"
GLM_SEAL = "某某有限公司\n合同专用章"
GLM_PAGE = "# A heading\n\nFirst paragraph of the page.\n\nSecond paragraph."

PADDLE_TABLE = "<fcel>阶段<fcel>VL<lcel><nl><fcel>布局<fcel>12.5<ecel><nl><ucel><fcel>3<fcel>4<nl>"
PADDLE_FORMULA = "\\[ E = m c^{2} \\]"

DEEPSEEK_PAGE = (
    "<|ref|>title<|/ref|><|det|>[[75, 133, 744, 160]]<|/det|>\n# On retro reactions \n\n"
    "<|ref|>sub_title<|/ref|><|det|>[[75, 180, 300, 200]]<|/det|>\n## 1 Aim \n\n"
    "<|ref|>text<|/ref|><|det|>[[75, 210, 920, 300]]<|/det|>\nWords of the first paragraph. \n\n"
    "<|ref|>equation<|/ref|><|det|>[[75, 320, 500, 360]]<|/det|>\n\\[ x = 1 \\] \n\n"
    "<|ref|>image<|/ref|><|det|>[[515, 626, 920, 816]]<|/det|>\n\n"
    "<|ref|>image_caption<|/ref|><|det|>[[504, 821, 929, 860]]<|/det|>\n<center>Figure 1. A thing</center> \n\n"
    "<|ref|>table<|/ref|><|det|>[[75, 400, 920, 600]]<|/det|>\n"
    "<table><tr><td>Item</td><td>Amount</td></tr><tr><td>Fee</td><td>82</td></tr></table>\n"
    "<｜end▁of▁sentence｜>"
)
UNLIMITED_PAGE = (
    "<|det|>header [27, 26, 252, 37]<|/det|>COMPANY / 2026\n"
    "<|det|>title [28, 81, 515, 99]<|/det|>Invoice No: 0703\n"
    "<|det|>text [59, 110, 900, 190]<|/det|>Total: 123.45 USD\n"
    "<|det|>table [40, 240, 960, 400]<|/det|><table><tr><td>Item</td><td>Amount</td></tr>"
    "<tr><td>Monthly fee</td><td>82,000</td></tr></table>\n"
    "<|det|>image [40, 420, 500, 600]<|/det|>\n"
    "<|det|>page_number [480, 980, 520, 990]<|/det|>1"
)
UNLIMITED_RANGE = f"<PAGE>{UNLIMITED_PAGE}\n<PAGE>\n<|det|>text [59, 110, 900, 190]<|/det|>The second page.\n"
