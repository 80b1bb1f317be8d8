{{- define "berth.name" -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{- end -}}
{{- define "berth.image" -}}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{- end -}}
{{- define "berth.labels" -}}
app.kubernetes.io/name: berth
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}
{{- define "berth.select" -}}
app.kubernetes.io/name: berth
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
{{- /* API addresses of all peers */ -}}
{{- define "berth.peers" -}}
{{- $name := include "berth.name" . -}}
{{- range $i := until (int .Values.peers.replicas) -}}{{ if $i }},{{ end }}{{ $name }}-{{ $i }}.{{ $name }}-peers.{{ $.Release.Namespace }}.svc:10000{{- end -}}
{{- end -}}
{{- define "berth.invite" -}}{{ include "berth.name" . }}-tokens{{- end -}}
