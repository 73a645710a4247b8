// The page of /docs/try-it: a frame for the bundled viewer, which loads nothing from another origin.
import { requestHeaders } from './parameters.ts'

/** Addresses are relative, so that the page also works behind a prefix. */
export const viewerPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Try it – Payweave</title>
<link rel="stylesheet" href="swagger-ui.css">
<link rel="stylesheet" href="try-it.css">
<link rel="icon" type="image/png" href="favicon-32x32.png">
</head>
<body>
<noscript>This page needs JavaScript. <a href="reference">The API reference</a> does not.</noscript>
<div id="viewer"></div>
<script src="swagger-ui-bundle.js"></script>
<script src="swagger-ui-standalone-preset.js"></script>
<script src="try-it.js"></script>
</body>
</html>
`

/** What the viewer's own style leaves to the page. */
export const viewerStyle = `body {
  margin: 0;
}
.swagger-ui .topbar a {
  color: #fff;
}
.swagger-ui .scheme-container {
  box-shadow: none;
}
@media (max-width: 40rem) {
  .swagger-ui .wrapper {
    padding: 0 0.75rem;
  }
  .swagger-ui .info .title {
    font-size: 1.5rem;
  }
  .swagger-ui .scheme-container {
    overflow-x: auto;
  }
  .swagger-ui .markdown table,
  .swagger-ui .responses-table {
    display: block;
    overflow-x: auto;
  }
}
`

/** Headers that a client makes anew for each call, by the examples that the viewer fills in. */
const madeAnew = {
  'PW-request-date': requestHeaders['requestDate']?.['example'],
  'PW-request-id': requestHeaders['requestId']?.['example'],
  'Idempotency-Key': requestHeaders['idempotencyKey']?.['example'],
}

/** The script that starts the viewer with one entry for each version. */
export function viewerInitializer(versions: readonly string[]): string {
  const urls = versions.map((version) => ({
    name: version,
    url: `../openapi.json?version=${version}`,
  }))
  return `'use strict'
const examples = ${JSON.stringify(madeAnew)}
const make = {
  'PW-request-date': () => new Date().toISOString().slice(0, 19).replace('T', ' '),
  'PW-request-id': () => crypto.randomUUID(),
  'Idempotency-Key': () => crypto.randomUUID(),
}
// A date or an id that still is the example of the document would be too old, or a repeat.
const withoutExamples = (request) => {
  for (const [name, example] of Object.entries(examples)) {
    if (request.headers?.[name] === example) request.headers[name] = make[name]()
  }
  return request
}
SwaggerUIBundle({
  dom_id: '#viewer',
  urls: ${JSON.stringify(urls)},
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
  // The viewer's own picture brings a style into the page, which the page does not allow.
  plugins: [() => ({ components: { Logo: () => 'Payweave API' } })],
  layout: 'StandaloneLayout',
  deepLinking: true,
  defaultModelsExpandDepth: -1,
  displayRequestDuration: true,
  persistAuthorization: false,
  // The viewer would send each document to a service on the Internet.
  validatorUrl: 'none',
  requestInterceptor: withoutExamples,
})
`
}
