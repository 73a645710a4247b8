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
<script type="module" src="try-it.js"></script>
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
/* The viewer's own colours have too little contrast. */
.swagger-ui a.nostyle,
.swagger-ui .info a,
.swagger-ui .info .link,
.swagger-ui .url {
  color: #1a56a0;
}
.swagger-ui .info a.link .url {
  color: #1a56a0;
}
.swagger-ui .info .title small {
  background: #4f5663;
}
.swagger-ui .info .title small.version-stamp {
  background: #466300;
}
.swagger-ui .opblock.opblock-get .opblock-summary-method {
  background: #1a56a0;
}
.swagger-ui .opblock.opblock-post .opblock-summary-method {
  background: #1b6b40;
}
.swagger-ui .btn.authorize {
  border-color: #1b6b40;
  color: #1b6b40;
}
.swagger-ui .btn.authorize svg {
  fill: #1b6b40;
}
.swagger-ui .btn.execute {
  background-color: #1a56a0;
  border-color: #1a56a0;
}
.swagger-ui .btn.cancel {
  border-color: #b00020;
  color: #b00020;
}
.swagger-ui .parameter__name.required::after,
.swagger-ui .parameter__name.required span {
  color: #b00020;
}
.swagger-ui .parameter__in,
.swagger-ui .parameter__deprecated,
.swagger-ui .prop-format,
.swagger-ui .response-control-media-type__accept-message,
.swagger-ui .tab li button.tablinks,
.swagger-ui .response-control-media-type__title,
.swagger-ui .response-control-examples__title {
  color: #4a4f5a;
}
.swagger-ui .response-control-media-type__accept-message {
  color: #1b6b40;
}
/* Numbers in examples, whose colour is an attribute. */
.swagger-ui .microlight span[style*='211, 99, 99'] {
  color: #f29a9a !important;
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

/** Runs after each change of what the viewer shows. */
const accessibility = `// Accessibility that Swagger UI lacks: names and levels for screen readers, and focus for keyboards.
const addAccessibility = () => {
  for (const list of document.querySelectorAll('#viewer select:not([aria-label])')) {
    if (list.id === 'servers') list.setAttribute('aria-label', 'Server')
    else if (list.labels.length === 0) list.setAttribute('aria-label', 'Example or type')
  }
  for (const heading of document.querySelectorAll('#viewer :is(h3, h4, h5):not([aria-level])')) {
    heading.ariaLevel = heading.localName[1] - 1
  }
  const parts = { '.information-container': 'About', '.schemes-server-container': 'Server' }
  for (const [part, name] of Object.entries(parts)) {
    for (const found of document.querySelectorAll(part)) Object.assign(found, { role: 'region', ariaLabel: name })
  }
  for (const body of document.querySelectorAll('#viewer textarea:not([aria-label])')) body.ariaLabel = 'Body'
  for (const text of document.querySelectorAll('#viewer pre:not([tabindex])')) text.tabIndex = 0
}
new MutationObserver(addAccessibility).observe(document.getElementById('viewer'), { childList: true, subtree: true })
`

/** The script that starts the viewer with one entry for each version. */
export function viewerInitializer(versions: readonly string[]): string {
  const urls = versions.map((version) => ({
    name: version,
    url: `../openapi.json?version=${version}`,
  }))
  return `// The test keys of a local sandbox; other deployments give none.
const keys = await (await fetch(new URL('try-it-keys.json', import.meta.url))).json()
const hasKeys = keys.subscriptionKey !== undefined
if (hasKeys && location.hash === '') location.hash = '#/Payment%20requests/createPaymentRequest'
// Send requests to the address at which the page was opened; its content security policy allows no other.
const server = new URL('..', import.meta.url).href.slice(0, -1)
// The document for a reader of this page: its examples have the key of the merchant, and an id of their own.
const adaptDocument = (response) => {
  if (!new URL(response.url).pathname.endsWith('/openapi.json')) return response
  const document = JSON.parse(response.text)
  document.servers[0].url = server
  response.text = JSON.stringify(document)
  if (!hasKeys) return response
  const id = 'order-' + crypto.randomUUID().slice(0, 8)
  response.text = response.text
    .replaceAll('<PROJECTS_DEMO_API_KEY>', keys.apiKey)
    .replaceAll('"order-1001"', JSON.stringify(id))
  return response
}
${accessibility}const examples = ${JSON.stringify(madeAnew)}
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
const viewer = SwaggerUIBundle({
  dom_id: '#viewer',
  urls: ${JSON.stringify(urls)},
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
  // The viewer's own picture brings a style into the page, which the page does not allow.
  // A link inside the button of each operation would be one control in another.
  plugins: [() => ({ components: { Logo: () => 'Payweave API', DeepLink: ({ text }) => text } })],
  layout: 'StandaloneLayout',
  deepLinking: true,
  defaultModelsExpandDepth: -1,
  displayRequestDuration: true,
  persistAuthorization: false,
  // The viewer would send each document to a service on the Internet.
  validatorUrl: 'none',
  requestInterceptor: withoutExamples,
  responseInterceptor: adaptDocument,
  onComplete: () => hasKeys && viewer.preauthorizeApiKey('subscriptionKey', keys.subscriptionKey),
})
`
}
