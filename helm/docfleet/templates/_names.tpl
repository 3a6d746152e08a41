{{/* Names and labels. */}}

{{/* At most 36 characters: the longest ending leaves 52, what a CronJob and a StatefulSet's revision label allow. */}}
{{- define "docfleet.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 36 | trimSuffix "-" -}}
{{- else if contains "docfleet" .Release.Name -}}
{{- .Release.Name | trunc 36 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-docfleet" (.Release.Name | trunc 27 | trimSuffix "-") -}}
{{- end -}}
{{- end -}}

{{/* What selectors hold. Never add to it: a selector cannot be changed by an upgrade. */}}
{{- define "docfleet.selectorLabels" -}}
app.kubernetes.io/name: docfleet
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "docfleet.labels" -}}
{{ include "docfleet.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: docfleet
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "docfleet.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "docfleet.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* The reference of an image; takes a dict with root and the variant's name. */}}
{{- define "docfleet.image" -}}
{{- $image := get .root.Values.images.variants .variant -}}
{{- if not $image -}}{{- fail (printf "images.variants has no %q" .variant) -}}{{- end -}}
{{- $registry := .root.Values.images.registry -}}
{{- if $registry }}{{ $registry }}/{{ end -}}{{ $image.repository }}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $image.tag | default .root.Chart.AppVersion }}{{ end -}}
{{- end -}}
