// Makes the AsyncAPI document of the pushes out of the OpenAPI document of their contract, and the page of their examples.
import type { JsonSchema } from './described-schema.ts'
import { type PushExample, pushExamples } from './push-examples.ts'
import { type Components, referencesIn } from './references.ts'

type Parameter = { name: string; description: string; schema: JsonSchema }
type Push = { summary: string; description: string; parameters: Parameter[] }
type Document = {
  info: { version: string; contact: JsonSchema }
  webhooks: Record<PushName, { post: Push }>
  components: Components
}
type PushName = keyof typeof pushExamples

/** The channels: where each kind of push goes, and what payload its messages have. */
const channels: Record<
  PushName,
  { title: string; url: string; payload: (name: string) => string }
> = {
  notify: {
    title: 'Notify',
    url: 'transaction_request.urls.notify',
    payload: (name) => {
      if (name === 'payment_initiated') return 'InvitationNotify'
      return name.startsWith('payout_') ? 'PayeeNotify' : 'PayerNotify'
    },
  },
  callback: {
    title: 'Callback',
    url: 'transaction_request.urls.callback',
    payload: () => 'PaymentCallback',
  },
  onboarding: {
    title: 'Signed callback',
    url: 'callback_url',
    payload: () => 'OnboardingCallback',
  },
}
const names = Object.keys(channels) as PushName[]

/** The AsyncAPI 3 document. `openApi` is the OpenAPI document that describes the pushes. */
export function asyncApiDocument(openApi: JsonSchema): JsonSchema {
  const { info, webhooks, components } = openApi as unknown as Document
  const messages = Object.fromEntries(
    names.flatMap((name) => messagesOf(name, webhooks[name].post)),
  )
  const used = referencesIn(messages, components)
  return {
    asyncapi: '3.1.0',
    info: {
      title: 'Payweave API: pushes',
      version: info.version,
      description:
        'What Payweave posts to the URLs of a merchant. We send each push at least once, in any order, and several pushes can report one payment: ship once for each payment. Respond with 2xx within 15 seconds.',
      contact: info.contact,
    },
    defaultContentType: 'application/json',
    channels: Object.fromEntries(
      names.map((name) => [
        name,
        {
          title: channels[name].title,
          // It is in a request of the merchant.
          address: null,
          description: `The URL that you passed as \`${channels[name].url}\`.`,
          messages: Object.fromEntries(
            messageNames(name).map((one) => [one, { $ref: `#/components/messages/${one}` }]),
          ),
        },
      ]),
    ),
    operations: Object.fromEntries(
      names.map((name) => [
        `${name}Push`,
        {
          action: 'send',
          channel: { $ref: `#/channels/${name}` },
          title: channels[name].title,
          summary: webhooks[name].post.summary,
          description: webhooks[name].post.description,
          bindings: { http: { method: 'POST', bindingVersion: '0.3.0' } },
          messages: messageNames(name).map((one) => ({
            $ref: `#/channels/${name}/messages/${one}`,
          })),
        },
      ]),
    ),
    components: {
      messages,
      schemas: Object.fromEntries(
        Object.entries(components['schemas'] ?? {}).filter(([name]) => used.has(`schemas/${name}`)),
      ),
    },
  }
}

/** Names of the messages of a channel; only a notify says in its body which one it is. */
function messageNames(name: PushName): string[] {
  return name === 'notify'
    ? pushExamples.notify.map((example) => example.name)
    : [messageName(name)]
}

function messageName(name: PushName): string {
  return channels[name].payload('')
}

function messagesOf(name: PushName, { summary, parameters }: Push): [string, JsonSchema][] {
  const headers = {
    type: 'object',
    required: parameters.map((parameter) => parameter.name),
    properties: Object.fromEntries(
      parameters.map(({ name: header, description, schema }) => [
        header,
        { description, ...schema },
      ]),
    ),
  }
  if (name !== 'notify') {
    const payload = { $ref: `#/components/schemas/${messageName(name)}` }
    const examples = pushExamples[name].map(exampleOf)
    return [[messageName(name), { name: messageName(name), summary, headers, payload, examples }]]
  }
  return pushExamples.notify.map((example) => [
    example.name,
    {
      name: example.name,
      summary: example.says,
      headers,
      payload: {
        allOf: [
          { $ref: `#/components/schemas/${channels.notify.payload(example.name)}` },
          { properties: { event_type: { const: example.name } } },
        ],
      },
      examples: [exampleOf(example)],
    },
  ])
}

function exampleOf({ name, says, body }: PushExample): JsonSchema {
  return { name, summary: says, payload: JSON.parse(body) as unknown }
}

/** Callbacks differ in the states in them alone, so that the page has one. */
const shownCallback = 'paid'

/** The examples as Markdown, for docs/integrate/push-examples.md. */
export function pushExamplesPage(): string {
  const sections = names.map((name) => {
    const shown = pushExamples[name].filter(
      (example) => name !== 'callback' || example.name === shownCallback,
    )
    const blocks = shown.map(
      (example) => `${example.says}\n\`\`\`json\n${pretty(example.body)}\n\`\`\``,
    )
    return [`## ${channels[name].title}: \`${channels[name].url}\``, ...blocks].join('\n\n')
  })
  return `# Every push, by example

[Pushes](events.md) and [signed callbacks](webhooks-signed.md) explain them; \`/asyncapi.json\` ([copy](../openapi/asyncapi.json)) describes headers and bodies in AsyncAPI 3.
Generated by \`npm run schemas\`, with the code that renders pushes.

${sections.join('\n\n')}
`
}

// Not in the type library yet: numbers keep the text that they are sent with.
const json = JSON as unknown as {
  rawJSON(text: string): unknown
  parse(
    text: string,
    revive: (key: string, value: unknown, more: { source?: string }) => unknown,
  ): unknown
}

function pretty(body: string): string {
  const exact = json.parse(body, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined ? json.rawJSON(source) : value,
  )
  // Objects and lists with nothing nested in them take one line.
  return JSON.stringify(exact, null, 2).replaceAll(
    /([{[])\n\s+((?:[^{}[\]]|\[\])*?)\n\s+([}\]])/g,
    (_all, open: string, fields: string, close: string) => {
      const [before, after] = open === '{' ? ['{ ', ' }'] : ['[', close]
      return `${before}${fields.replaceAll(/\n\s+/g, ' ')}${after}`
    },
  )
}
