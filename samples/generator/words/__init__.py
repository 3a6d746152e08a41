"""Our own words, by language: enough to fill pages with plain sentences that mean little."""

from samples.generator.words.chinese import CHINESE
from samples.generator.words.english import ENGLISH
from samples.generator.words.german import GERMAN
from samples.generator.words.japanese import JAPANESE
from samples.generator.words.words import Words

LANGUAGES: dict[str, Words] = {"en": ENGLISH, "de": GERMAN, "zh": CHINESE, "ja": JAPANESE}

__all__ = ["LANGUAGES", "Words"]
