{{/* Up at once, down one pod at a time: the next goes when the last has had its grace. Takes scaling and grace. */}}
{{- define "docfleet.behavior" -}}
scaleUp:
  stabilizationWindowSeconds: 0
  selectPolicy: Max
  policies:
    - {type: Pods, value: {{ .scaling.scaleUpPods }}, periodSeconds: 15}
scaleDown:
  stabilizationWindowSeconds: {{ .scaling.scaleDownWindow }}
  selectPolicy: Min
  policies:
    - {type: Pods, value: 1, periodSeconds: {{ max 60 (int .grace) }}}
{{- end -}}

{{/* What docfleet_pending_pages calls the pages that wait in front of a stage, as a list in JSON; empty where they cannot be told
from another stage's (a page being read may be with either reader). Takes the name of a stage. */}}
{{- define "docfleet.pendingStages" -}}
{{- get (dict "layout_worker" (list "layout" "unreleased") "rec_worker" (list "reading") "compose" (list "composing")) . | default list | toJson -}}
{{- end -}}
