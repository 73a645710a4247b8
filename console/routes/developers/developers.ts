// What the developers of a merchant need: keys, addresses that may call, grants, signing, and the people of a sandbox.
import type { FastifyInstance } from 'fastify'
import type { Grant } from '#gen/payweave/accounts/v1/access_pb.js'
import type { Clients } from '../../clients.ts'
import { asFile, type ProjectWork, type Worker } from '../../http/work.ts'
import { code, type Notices, noticeOf, type Section, text } from '../../pages/blocks.ts'
import { sendSections } from '../../pages/render.ts'
import { timeOf } from '../../pages/words.ts'
import { isOfInstitution, nextPageUrl, noneMatches, rowsAt, sendCsv, withFilters } from '../list.ts'
import { merchantsOf } from '../merchants.ts'
import { keySections, registerKeys } from './keys.ts'
import { peopleSection } from './sandbox-people.ts'
import { registerSigning, signingSection } from './signing.ts'

type Options = { worker: Worker; clients: Clients; hasTriggers: boolean }

const path = '/projects/:projectId/developers'
const grantsShown = 25

/** Registers `/projects/<id>/developers`, its forms and files. */
export function registerDevelopers(app: FastifyInstance, options: Options): void {
  const { worker, clients, hasTriggers } = options
  app.get(
    path,
    worker.projectPage((work) => show(work, clients, hasTriggers)),
  )
  registerKeys(app, path, { worker, clients })
  registerSigning(app, path, { worker, clients })
  app.get(
    `${path}/grants.csv`,
    worker.projectPage((work) => {
      const { projectId } = work.project
      return sendCsv(work, 'grants', grantHead, async () => {
        const { grants } = await clients.access.listGrants({ projectId })
        const wanted = grants.filter(isOfInstitution(work.query))
        return { rows: wanted.map(grantCells), nextPageToken: '' }
      })
    }, asFile),
  )
}

async function show(work: ProjectWork, clients: Clients, hasTriggers: boolean) {
  const { reply, project, query } = work
  const { projectId } = project
  const { access } = clients
  const [read, merchants, { grants }] = await Promise.all([
    access.getProject({ projectId }),
    merchantsOf(work, clients),
    access.listGrants({ projectId }),
  ])
  const mayTrigger = hasTriggers && work.may('payweave.accounts.v1.AccessService/IssueApiKey')
  return sendSections(reply, {
    title: `Developers of ${project.name}`,
    notice: noticeOf(query, notices),
    sections: [
      ...(await keySections(work, clients, merchants)),
      addressSection(read.project?.allowedIps ?? []),
      await signingSection(work, clients),
      grantSection(work, grants),
      ...(mayTrigger ? [triggersSection(projectId), peopleSection] : []),
    ],
  })
}

const notices: Notices = { revoked: 'The key is revoked. Calls with it are refused.' }

function triggersSection(projectId: string): Section {
  const href = `/projects/${projectId}/developers/triggers`
  return { heading: 'Sandbox', facts: [['Outcomes', { text: 'Make it happen', href }]] }
}

function addressSection(allowed: string[]): Section {
  return {
    heading: 'Addresses that may call',
    note:
      allowed.length === 0
        ? 'Any. An operator limits them.'
        : 'Only these. An operator changes them.',
    table: {
      head: ['Address or range'],
      empty: 'No restriction.',
      rows: allowed.map((one) => [code(one)]),
    },
    rpc: 'payweave.accounts.v1.AccessService/GetProject',
  }
}

function grantSection({ request, query, project }: ProjectWork, grants: Grant[]): Section {
  const wanted = grants.filter(isOfInstitution(query))
  const { rows, nextPageToken } = rowsAt(wanted, query.get('grants'), grantsShown)
  const file = `/projects/${project.projectId}/developers/grants.csv`
  return {
    heading: 'Grants',
    facts: [['File', { text: 'CSV', href: withFilters(file, request.url) }]],
    table: {
      head: ['Institution', 'Endpoint', 'Since'],
      empty: query.has('institution')
        ? noneMatches('grant')
        : 'None: the project uses no institution’s endpoints.',
      rows: rows.map((one) => [
        text(one.institutionName),
        code(one.endpoint),
        { at: one.grantTime },
      ]),
    },
    ...nextPageUrl(request.url, nextPageToken, 'grants'),
    rpc: 'payweave.accounts.v1.AccessService/ListGrants',
  }
}

const grantHead = ['institution_id', 'institution', 'endpoint', 'since']

function grantCells(one: Grant): string[] {
  const since = timeOf(one.grantTime)?.iso ?? ''
  return [one.institutionId, one.institutionName, one.endpoint, since]
}
