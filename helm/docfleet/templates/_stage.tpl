{{/* A stage as its template needs it: what was given, the defaults below it, and what is computed. YAML of one mapping. */}}

{{- define "docfleet.modules" -}}
ingest: services.ingest
layout_worker: services.layout_worker
rec_worker: services.rec_worker
vl_worker: services.vl_worker
compose: services.assembler.compose
join: services.assembler.join
{{- end -}}

{{- define "docfleet.groups" -}}
ingest: ingest
layout_worker: layout-worker
rec_worker: rec-worker
vl_worker: vl-worker
compose: assembler-compose
join: assembler-join
{{- end -}}

{{/* Partitions of a topic: of the values, else of topics.yaml. Takes root and topic (an entry of topics.yaml). */}}
{{- define "docfleet.partitions" -}}
{{- $catalog := .root.Files.Get "files/topics.yaml" | fromYaml -}}
{{- int (.topic.partitions | default .root.Values.topics.partitions | default $catalog.defaults.partitions) -}}
{{- end -}}

{{- define "docfleet.stage" -}}
{{- $root := .root -}}
{{- $name := .name -}}
{{- $stage := mustMergeOverwrite (deepCopy $root.Values.stageDefaults) (deepCopy (get $root.Values.stages $name | default dict)) -}}
{{- $module := get (include "docfleet.modules" $root | fromYaml) $name -}}
{{- if not $module -}}{{- fail (printf "stages.%s: there is no such stage" $name) -}}{{- end -}}
{{- $group := get (include "docfleet.groups" $root | fromYaml) $name -}}
{{- $component := replace "_" "-" $name -}}
{{- $given := get ($root.Values.settings.stages | default dict) $name | default dict -}}
{{- $drain := 20.0 -}}
{{- if hasKey $given "drain_s" -}}{{- $drain = float64 $given.drain_s -}}{{- end -}}
{{/* shared/streams/run.py ends a stuck process 4 x GRACE_S (5 s) after its drain; the margin is for the container itself. */}}
{{- $grace := int (ceil (addf $drain 20 (float64 $stage.graceMargin))) -}}
{{- $catalog := $root.Files.Get "files/topics.yaml" | fromYaml -}}
{{- $topics := list -}}
{{- $ceiling := 0 -}}
{{- range $catalog.topics -}}
{{- if has $group (.groups | default list) -}}
{{- $partitions := int (include "docfleet.partitions" (dict "root" $root "topic" .)) -}}
{{- $topics = append $topics .name -}}
{{- if .lanes -}}{{- $topics = append $topics (printf "%s.bulk" .name) -}}{{- end -}}
{{- $ceiling = max $ceiling $partitions -}}
{{- end -}}
{{- end -}}
{{- $scaling := $stage.autoscaling -}}
{{- $max := int ($scaling.max | default $ceiling) -}}
{{- if gt $max $ceiling -}}
{{- fail (printf "stages.%s.autoscaling.max is %d, above the %d partitions of its topics: the pods beyond would idle" $name $max $ceiling) -}}
{{- end -}}
{{- if gt (int $stage.replicas) $ceiling -}}
{{- fail (printf "stages.%s.replicas is %d, above the %d partitions of its topics: the pods beyond would idle" $name (int $stage.replicas) $ceiling) -}}
{{- end -}}
{{- if gt (int $scaling.min) $max -}}
{{- fail (printf "stages.%s.autoscaling.min is above its max" $name) -}}
{{- end -}}
{{- if and (eq $name "join") $scaling.enabled (lt (int $scaling.min) 1) -}}
{{- fail "stages.join.autoscaling.min: the join ends documents that have no record waiting (deadlines), so one must always run" -}}
{{- end -}}
{{- $defaults := dict "ingest" 32 "layout_worker" 4 "rec_worker" 16 "vl_worker" 256 "compose" 16 -}}
{{- $inFlight := int ($given.max_in_flight | default (get $defaults $name) | default 8) -}}
{{- $target := int (ceil (mulf (float64 $scaling.pagesPerSecond) (float64 $scaling.targetSeconds))) -}}
{{/* Lag is counted from the committed offset, so one slow page shows all that is in flight behind it as lag. */}}
{{- $lag := max $target $inFlight 1 -}}
{{- $scaled := and $scaling.enabled (ne $root.Values.autoscaling.method "none") -}}
{{- $computed := dict "name" $name "module" $module "group" $group "component" $component "fullname" (printf "%s-%s" (include "docfleet.fullname" $root) $component) "drain" $drain "grace" $grace "topics" $topics "ceiling" $ceiling "max" $max "pagesTarget" $target "lagTarget" $lag "scaled" $scaled -}}
{{- mergeOverwrite $stage $computed | toYaml -}}
{{- end -}}

{{- define "docfleet.stageLabels" -}}
{{ include "docfleet.selectorLabels" .root }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* What must not be installed, with words that say why. */}}
{{- define "docfleet.refusals" -}}
{{- if not .Values.settings.kafka.bootstrap_servers -}}{{- fail "settings.kafka.bootstrap_servers must be given" -}}{{- end -}}
{{- if and (eq (.Values.settings.objects.kind | default "s3") "folder") -}}{{- fail "settings.objects.kind: pods share no folder; use s3" -}}{{- end -}}
{{- if not .Values.settings.objects.endpoint -}}{{- fail "settings.objects.endpoint must be given" -}}{{- end -}}
{{- $vl := include "docfleet.stage" (dict "root" . "name" "vl_worker") | fromYaml -}}
{{- if and ((.Values.settings.vl | default dict).endpoints) (not $vl.enabled) -}}
{{- fail "settings.vl.endpoints is set and stages.vl_worker is not enabled: its tasks would wait for ever" -}}
{{- end -}}
{{- if and (eq .Values.models.source "om") (not (or .Values.models.claim .Values.models.image)) -}}
{{- fail "models.source is om: name models.claim or models.image" -}}
{{- end -}}
{{- if and (eq .Values.topics.strategy "strimzi") (not .Values.topics.strimziCluster) -}}
{{- fail "topics.strategy is strimzi: name topics.strimziCluster" -}}
{{- end -}}
{{- end -}}
