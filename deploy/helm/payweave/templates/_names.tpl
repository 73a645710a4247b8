{{- /* What several templates need. They use only what Go's templates have by themselves; docs/operate/helm.md says why. */ -}}

{{- define "payweave.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag }}{{ end }}
{{- end -}}

{{- /* The environment of all processes, on one line. */ -}}
{{- define "payweave.settings" -}}
{ "PUBLIC_BASE_URL": {{ printf "https://%s" .Values.hosts.api | printf "%q" }}, "CONSOLE_URL": {{ printf "https://%s" .Values.hosts.console | printf "%q" }}, "GATEWAY_REPLICAS": {{ print .Values.parts.gateway.replicas.min | printf "%q" }}
{{- range $name, $value := .Values.settings }}, {{ printf "%q" $name }}: {{ print $value | printf "%q" }}{{ end }}
{{- if .Values.traces.enabled }}{{ range $name, $value := .Values.traces.settings }}, {{ printf "%q" $name }}: {{ print $value | printf "%q" }}{{ end }}{{ end }} }
{{- end -}}

{{- /* Where PostgreSQL is. */ -}}
{{- define "payweave.stores" -}}
{ "DATABASE_HOST": {{ printf "%q" .Values.database.host }}, "DATABASE_OPTIONS": {{ printf "%q" .Values.database.options }} }
{{- end -}}
