// Who had payments and institution ask a back end again or send a call once more, people and bearers alike.
import type { FastifyInstance } from 'fastify'
import type { Action } from '#gen/payweave/audit/v1/audit_pb.js'
import type { Clients } from '../../clients.ts'
import { asFile, type Work, type Worker } from '../../http/work.ts'
import { code, type Section, text } from '../../pages/blocks.ts'
import { sendSections } from '../../pages/render.ts'
import { timeOf } from '../../pages/words.ts'
import type { People } from '../../sign-in/people.ts'
import { chained, nextPageUrl, noneMatches, sendCsv, withFilters } from '../list.ts'

const path = '/audit/actions'
const services = ['payments', 'institution'] as const
const pageSize = 40
const csvPageSize = 200

/** Registers `/audit/actions` and its file. */
export function registerActions(
  app: FastifyInstance,
  { worker, clients, people }: { worker: Worker; clients: Clients; people: People },
): void {
  const { actions } = clients
  app.get(
    path,
    worker.page((work) => show(work, clients, people)),
  )
  app.get(
    `${path}.csv`,
    worker.page(async (work) => {
      const filter = await filterOf(work, people)
      const lists = services.map((service) => async (pageToken: string) => {
        const page = await actions[service].listActions({
          ...filter,
          pageSize: csvPageSize,
          pageToken,
        })
        const rows = page.actions.map((one) => csvCells(service, one))
        return { rows, nextPageToken: page.nextPageToken }
      })
      const read = chained(lists)
      return sendCsv(work, 'actions', csvHead, (token) => read(token))
    }, asFile),
  )
}

async function filterOf({ query }: Work, people: People) {
  const caller = await people.recordNameOf(query.get('person') ?? '')
  return { caller, target: query.get('target') ?? '' }
}

async function show(work: Work, { actions }: Clients, people: People) {
  const { request, reply, query, namesOf } = work
  const filter = await filterOf(work, people)
  const field = (label: string, name: string, maxlength: number) => ({
    label,
    name,
    value: query.get(name) ?? '',
    maxlength,
  })
  const sections = await Promise.all(
    services.map(async (service): Promise<Section> => {
      const wanted = { ...filter, pageSize, pageToken: query.get(service) ?? '' }
      const page = await actions[service].listActions(wanted)
      const nameOf = await namesOf(page.actions.map(({ caller }) => caller))
      return {
        heading: `In ${service}`,
        table: {
          head: ['When', 'Who', 'What', 'On', 'Note', 'Request'],
          empty: noneMatches('action'),
          rows: page.actions.map((one) => [
            { at: one.actionTime },
            text(nameOf(one.caller)),
            text(one.action.replaceAll('_', ' ')),
            code(one.target),
            text(one.note),
            code(one.requestId),
          ]),
        },
        ...nextPageUrl(request.url, page.nextPageToken, service),
        rpc: 'payweave.audit.v1.ActionAuditService/ListActions',
        commands: ['audit actions'],
      }
    }),
  )
  const [first, ...others] = sections
  return sendSections(reply, {
    title: 'Audit: what was asked again',
    sections: [
      {
        note: 'Who had a back end asked again, a call sent once more or a refund settled by hand. Retries in accounts are among the changes of access.',
        filters: {
          fields: [field('Caller', 'person', 600), field('On (id)', 'target', 255)],
          links: [
            { label: 'CSV', href: withFilters(`${path}.csv`, request.url) },
            { label: 'Changes of access', href: '/audit' },
          ],
        },
        ...first,
      },
      ...others,
    ],
  })
}

const csvHead = ['time', 'service', 'caller', 'action', 'target', 'note', 'request_id']

function csvCells(service: string, one: Action): string[] {
  const { caller, action, target, note, requestId } = one
  return [timeOf(one.actionTime)?.iso ?? '', service, caller, action, target, note, requestId]
}
