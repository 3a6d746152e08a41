{{/* Parts of a pod that stages, jobs and the test share. */}}

{{/* The settings as TOML, with the paths that the chart itself mounts. */}}
{{- define "docfleet.toml" -}}
{{- $settings := deepCopy .Values.settings -}}
{{- if .Values.kafka.caSecret -}}
{{- $_ := set $settings "kafka" (mergeOverwrite ($settings.kafka | default dict) (dict "ssl_ca_location" (printf "/etc/docfleet/kafka-ca/%s" .Values.kafka.caKey))) -}}
{{- end -}}
{{- if .Values.passwords.existingSecret -}}
{{- $_ := set $settings "limits" (mergeOverwrite ($settings.limits | default dict) (dict "passwords" "/etc/docfleet/passwords")) -}}
{{- end -}}
{{- $settings | toToml -}}
{{- end -}}

{{- define "docfleet.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: {{ .Values.podSecurityContext.runAsUser }}
runAsGroup: {{ .Values.podSecurityContext.runAsGroup }}
fsGroup: {{ .Values.podSecurityContext.runAsGroup }}
fsGroupChangePolicy: OnRootMismatch
{{- with .Values.podSecurityContext.supplementalGroups }}
supplementalGroups: {{ toJson . }}
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "docfleet.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Environment of every container. Secrets come by reference only. */}}
{{- define "docfleet.env" -}}
- {name: DOCFLEET_CONFIG, value: /etc/docfleet/settings/docfleet.toml}
- {name: XDG_CACHE_HOME, value: /cache}
- {name: HOME, value: /tmp}
- {name: PYTHONUNBUFFERED, value: "1"}
{{- with .Values.kafka.existingSecret }}
- name: DOCFLEET_KAFKA__SASL_USERNAME
  valueFrom: {secretKeyRef: {name: {{ . }}, key: {{ $.Values.kafka.usernameKey }}}}
- name: DOCFLEET_KAFKA__SASL_PASSWORD
  valueFrom: {secretKeyRef: {name: {{ . }}, key: {{ $.Values.kafka.passwordKey }}}}
{{- end }}
{{- with .Values.objects.existingSecret }}
- name: DOCFLEET_OBJECTS__ACCESS_KEY
  valueFrom: {secretKeyRef: {name: {{ . }}, key: {{ $.Values.objects.accessKeyKey }}}}
- name: DOCFLEET_OBJECTS__SECRET_KEY
  valueFrom: {secretKeyRef: {name: {{ . }}, key: {{ $.Values.objects.secretKeyKey }}}}
{{- end }}
{{- with .Values.vl.existingSecret }}
- name: DOCFLEET_VL__API_KEY
  valueFrom: {secretKeyRef: {name: {{ . }}, key: {{ $.Values.vl.apiKeyKey }}}}
{{- end }}
{{- end -}}

{{- define "docfleet.volumeMounts" -}}
- {name: settings, mountPath: /etc/docfleet/settings, readOnly: true}
- {name: tmp, mountPath: /tmp}
{{- if .Values.kafka.caSecret }}
- {name: kafka-ca, mountPath: /etc/docfleet/kafka-ca, readOnly: true}
{{- end }}
{{- end -}}

{{/* Takes root, config (name of the ConfigMap) and tmpSize. */}}
{{- define "docfleet.volumes" -}}
- name: settings
  configMap: {name: {{ .config }}}
- name: tmp
  emptyDir: {sizeLimit: {{ .tmpSize }}}
{{- with .root.Values.kafka.caSecret }}
- name: kafka-ca
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{- end }}
{{- end -}}

{{- define "docfleet.pullSecrets" -}}
{{- with .Values.images.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Pod of a short task with the command line. Takes root, config, serviceAccount, args, component and restart. */}}
{{- define "docfleet.taskPod" -}}
metadata:
  labels:
    {{- include "docfleet.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  restartPolicy: {{ .restart | default "OnFailure" }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  serviceAccountName: {{ .serviceAccount }}
  {{- include "docfleet.pullSecrets" .root | nindent 2 }}
  securityContext: {{- include "docfleet.podSecurityContext" .root | nindent 4 }}
  containers:
    - name: docfleet
      image: {{ include "docfleet.image" (dict "root" .root "variant" "core") }}
      imagePullPolicy: {{ .root.Values.images.pullPolicy }}
      args: {{ toJson .args }}
      securityContext: {{- include "docfleet.securityContext" .root | nindent 8 }}
      env:
        {{- include "docfleet.env" .root | nindent 8 }}
        {{- with .root.Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      resources: {{- toYaml .root.Values.maintenance.resources | nindent 8 }}
      volumeMounts:
        {{- include "docfleet.volumeMounts" .root | nindent 8 }}
        - {name: tmp, mountPath: /cache, subPath: cache}
  volumes:
    {{- include "docfleet.volumes" (dict "root" .root "config" .config "tmpSize" "1Gi") | nindent 4 }}
{{- end -}}
