// Holds the AsyncAPI document against the specification, its examples against their schemas, and both against the committed copies.
import { Parser } from '@asyncapi/parser'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { describe, expect, it } from 'vitest'
import { noticeKinds } from '#core/payment/words.ts'
import { routeRows } from '../http/app.ts'
import { asyncApiDocument, pushExamplesPage } from './async-api.ts'
import { openApiDocuments } from './document.ts'

const documents = openApiDocuments({ rows: routeRows, publicBaseUrl: 'http://127.0.0.1:8080' })
const document = asyncApiDocument(documents['2024-10-01'])

type Components = Record<'messages' | 'schemas', Record<string, object>>
type Message = { name: string; payload: object; examples: { payload: object }[] }

describe('the AsyncAPI document', () => {
  it('the AsyncAPI document is valid, without a warning', async () => {
    const { diagnostics } = await new Parser().parse(JSON.stringify(document))
    expect(diagnostics).toEqual([])
  })

  it('the AsyncAPI document without the action of an operation is not valid', async () => {
    const broken = JSON.stringify(document).replaceAll('"action":"send",', '')
    const { diagnostics } = await new Parser().parse(broken)
    expect(diagnostics.map(({ message }) => message).join()).toContain('"action"')
  })

  it('the examples of the AsyncAPI document are what the schemas of their messages take, without other fields', () => {
    const { messages, schemas } = document['components'] as Components
    const closed = Object.entries(schemas).map(([name, schema]) => [
      name,
      { ...schema, additionalProperties: false },
    ])
    for (const { name, payload, examples } of Object.values(messages) as Message[]) {
      const components = { schemas: Object.fromEntries(closed) }
      const validate = addFormats
        .default(new Ajv({ strict: false }))
        .compile({ ...payload, components })
      for (const example of examples) {
        expect(validate(example.payload), `${name}: ${JSON.stringify(validate.errors)}`).toBe(true)
        expect(validate({ ...example.payload, status: 1 })).toBe(false)
      }
    }
  })

  it('the AsyncAPI document has every push', async () => {
    const { document: parsed } = await new Parser().parse(JSON.stringify(document))
    const messages = parsed?.messages().all() ?? []
    const names = messages.map((message) => message.name())
    const others = ['PaymentCallback', 'OnboardingCallback']
    expect(names.toSorted()).toEqual([...noticeKinds, ...others].toSorted())
    for (const message of messages) expect(message.examples().all().length).toBeGreaterThan(0)
  })

  it('the AsyncAPI document is the committed one', async () => {
    const text = `${JSON.stringify(document, null, 2)}\n`
    await expect(text).toMatchFileSnapshot('../../docs/openapi/asyncapi.json')
  })

  it('the page of examples is the committed one', async () => {
    await expect(pushExamplesPage()).toMatchFileSnapshot('../../docs/integrate/push-examples.md')
  })
})
