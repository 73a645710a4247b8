// The routes of the pages that people use at the back end. Only the card form runs a script.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import formbody from '@fastify/formbody'
import type { FastifyInstance } from 'fastify'
import { agentPage } from './agent-page.ts'
import { cardPage } from './card-page.ts'
import { type PagesContext, pagesFolder } from './page.ts'

const bodyLimitBytes = 16 * 1024

/** Registers the card form, the agent's page and their style sheet. */
export async function pageRoutes(app: FastifyInstance, context: PagesContext): Promise<void> {
  const style = readFileSync(join(pagesFolder, 'simulator.css'))
  const script = readFileSync(join(pagesFolder, 'card.js'))
  await app.register(async (scope) => {
    await scope.register(formbody, { bodyLimit: bodyLimitBytes })
    scope.addHook('onRequest', (_request, reply, done) => {
      reply.headers({
        // The URL of a card form is a secret of its payer.
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        // A payer's page may isolate itself from other origins and still show the form.
        'cross-origin-resource-policy': 'cross-origin',
      })
      done()
    })
    scope.get('/simulator.css', (_request, reply) => reply.type('text/css').send(style))
    scope.get('/card.js', (_request, reply) => reply.type('text/javascript').send(script))

    const card = cardPage(context)
    scope.get('/card/:token', card.show)
    scope.post('/card/:token', card.submit)

    const agent = agentPage(context)
    scope.get('/agent', agent.ask)
    scope.post('/agent', agent.look)
    scope.post('/agent/collect', agent.collect)
  })
}
