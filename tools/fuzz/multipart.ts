// The form of onboarding artefacts, as the gateway reads it from a request.
import fastifyMultipart from '@fastify/multipart'
import fastify, { type FastifyInstance } from 'fastify'
import { Failure } from '#core/errors/errors.ts'
import { formParser, readForm } from '../../gateway/http/body/multipart.ts'
import type { Target } from './fuzz.ts'
import { expectTrue } from './rules.ts'

const names = { texts: new Set(['first_name', 'email']), files: new Set(['selfie']) }
const refusals = new Set(['INVALID_PARAMETER', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'])
const noArtefacts = { begin: () => Promise.resolve(), add: () => Promise.resolve() }
const type = 'multipart/form-data; boundary=b'

const part = (head: string, content: string) =>
  `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${content}\r\n`
const form = [
  part('name="first_name"', 'Ama'),
  part('name="email"', 'ama@example.com'),
  part('name="selfie"; filename="a.pdf"\r\nContent-Type: application/pdf', '%PDF-1.7\nx'),
  '--b--\r\n',
].join('')

let started: Promise<FastifyInstance> | undefined

/** Answers 200 with the texts of a form, 400 if it is refused, 500 for any other error. */
async function startReader(): Promise<FastifyInstance> {
  const app = fastify()
  app.decorateRequest('edge')
  app.addHook('onRequest', (request, _reply, done) => {
    request.edge = {} as typeof request.edge
    done()
  })
  await app.register(fastifyMultipart, formParser)
  app.post('/', (request) => readForm(request, names, noArtefacts))
  app.setErrorHandler((error, _request, reply) => {
    const isRefusal = error instanceof Failure && refusals.has(error.reason)
    return reply.code(isRefusal ? 400 : 500).send({ error: String(error) })
  })
  return app
}

/** Forms: each is read or refused, and ends in time. */
export const multipart: Target = {
  name: 'multipart',
  seeds: [form],
  async run(input) {
    started ??= startReader()
    const app = await started
    const headers = { 'content-type': type }
    const { statusCode, body } = await app.inject({
      method: 'POST',
      url: '/',
      headers,
      payload: input,
    })
    expectTrue(statusCode === 200 || statusCode === 400, `${statusCode} ${body}`)
    if (statusCode === 400) return
    const values = Object.values(JSON.parse(body) as Record<string, unknown>)
    // The name of an unknown file has an empty one.
    const areTexts = values.every((value) => typeof value === 'string')
    expectTrue(areTexts, 'what is read are texts')
  },
}
