{{- define "windlass.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "windlass.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "windlass.selector" -}}
app.kubernetes.io/name: {{ include "windlass.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "windlass.labels" -}}
{{ include "windlass.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "windlass.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "windlass.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name is empty and serviceAccount.create is false: set serviceAccount.name to an account that exists" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "windlass.registry" -}}
{{- required "image.registry is empty: set it to the registry that `make push` put Windlass's images into, e.g. --set image.registry=example.azurecr.io" .Values.image.registry | trimSuffix "/" -}}
{{- end -}}

{{- define "windlass.tag" -}}
{{- default .Chart.AppVersion .Values.image.tag -}}
{{- end -}}

{{- define "windlass.image" -}}
{{- $image := printf "%s/%s" (include "windlass.registry" .) .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $image .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image (include "windlass.tag" .) -}}
{{- end -}}
{{- end -}}

{{- define "windlass.agentImage" -}}
{{- .Values.agent.image | default (printf "%s/windlass-agent:%s" (include "windlass.registry" .) (include "windlass.tag" .)) -}}
{{- end -}}

{{- define "windlass.trainerImage" -}}
{{- .Values.trainer.image | default (printf "%s/windlass-trainer:%s" (include "windlass.registry" .) (include "windlass.tag" .)) -}}
{{- end -}}

{{- define "windlass.trainerGpuImage" -}}
{{- .Values.trainer.gpuImage | default (printf "%s/windlass-trainer-cuda:%s" (include "windlass.registry" .) (include "windlass.tag" .)) -}}
{{- end -}}

{{- /* CEL rules are stable since 1.29. An older server drops them, or refuses the CRD when it is
applied by the server, as helm does since version 4; the controller checks the same rules itself. */ -}}
{{- define "windlass.rules" -}}
{{- if semverCompare ">=1.29.0-0" .Capabilities.KubeVersion.Version }}yes{{ end -}}
{{- end -}}

{{- /* `helm template --kube-version` changes the version and not the list of APIs: ask for both. */ -}}
{{- define "windlass.policyVersion" -}}
{{- if and (semverCompare ">=1.21.0-0" .Capabilities.KubeVersion.Version) (.Capabilities.APIVersions.Has "policy/v1") -}}
policy/v1
{{- else -}}
policy/v1beta1
{{- end -}}
{{- end -}}
