// Renders pages. Templates escape every value; only what this file made may be put in as it is.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Eta } from 'eta'
import type { FastifyReply } from 'fastify'
import { curlsOf, otherRpcs, recordButton } from '../http/made-calls.ts'
import { bandOf, navigationOf, projectLinksOf, roleWords } from '../http/shell.ts'
import { shownName } from '../sign-in/people.ts'
import type { Page } from './blocks.ts'
import { areaOf, rectanglesOf } from './chart/chart.ts'
import { timeOf, toneOf } from './words.ts'

const eta = new Eta({ views: import.meta.dirname, cache: true, autoTrim: false })

/** A file that browsers keep: its address changes with its content. */
type Asset = { path: string; type: string; content: string }

/** The script and the style of all pages. */
export const assets = {
  script: asset('console.js', 'text/javascript; charset=utf-8', ['console.js']),
  style: asset('console.css', 'text/css; charset=utf-8', [
    'style/base.css',
    'style/layout.css',
    'style/parts.css',
  ]),
}

/** One asset of several files. */
function asset(name: string, type: string, files: string[]): Asset {
  const content = files
    .map((file) => readFileSync(join(import.meta.dirname, file), 'utf8'))
    .join('')
    // A browser needs no indentation; no text of these files goes over several lines.
    .replaceAll(/^ +/gm, '')
  const version = createHash('sha256').update(content).digest('hex').slice(0, 12)
  return { path: `/assets/${version}/${name}`, type, content }
}

const words = { timeOf, toneOf, rectanglesOf, areaOf, curlsOf, recordButton, otherRpcs, shownName }

/** A part of a page, for a stream that renews it. */
export function renderPart(template: string, data: Record<string, unknown>): string {
  return eta.render(`./${template}`, { ...data, words })
}

/** Answers with a page of sections. */
export function sendSections(reply: FastifyReply, page: Page, status = 200): FastifyReply {
  return sendPage(reply, 'page', page, status)
}

/** Answers with a page. `data` reaches the template as `it`, beside `words`, which templates write with, and the shell of the request. */
export function sendPage(
  reply: FastifyReply,
  template: string,
  data: { title: string } & Record<string, unknown>,
  status = 200,
): FastifyReply {
  const { shell } = reply.request
  const html = eta.render(`./${template}`, {
    ...data,
    words,
    assets,
    shell: {
      ...shell,
      band: bandOf(shell),
      navigation: navigationOf(shell),
      projects: projectLinksOf(shell),
      roles: roleWords(shell.session?.memberships ?? []),
    },
  })
  return reply.code(status).type('text/html; charset=utf-8').send(html)
}
