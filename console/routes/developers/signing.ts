// The signing secrets that a project's onboarding callbacks are signed with: their ids with a file, and the form that makes a new one.
import type { FastifyInstance, FastifyReply } from 'fastify'
import { invalid } from '#core/errors/errors.ts'
import { randomId } from '#core/identity/id.ts'
import type { SigningKey } from '#gen/payweave/accounts/v1/access_pb.js'
import type { Clients } from '../../clients.ts'
import { asFile, type ProjectWork, type Worker } from '../../http/work.ts'
import { type Cell, code, type Section, text } from '../../pages/blocks.ts'
import { sendSections } from '../../pages/render.ts'
import { timeOf } from '../../pages/words.ts'
import {
  formId,
  isOfInstitution,
  nextPageUrl,
  noneMatches,
  rowsAt,
  sendCsv,
  withFilters,
} from '../list.ts'

const rotateRpc = 'payweave.accounts.v1.AccessService/RotateInstitutionKey'
/** Most rows have a form. */
const pageSize = 6

/** Registers the rotation of a signing secret and the file of them below the path of the developers. */
export function registerSigning(
  app: FastifyInstance,
  path: string,
  { worker, clients: { access } }: { worker: Worker; clients: Clients },
): void {
  app.get(
    `${path}/signing-secrets.csv`,
    worker.projectPage(
      (work) =>
        sendCsv(work, 'signing-secrets', csvHead, async () => {
          const { keys } = await access.listSigningKeys({ projectId: work.project.projectId })
          const wanted = keys.filter(isOfInstitution(work.query))
          return { rows: wanted.map(csvCells), nextPageToken: '' }
        }),
      asFile,
    ),
  )
  app.post(
    `${path}/signing-secrets/rotate`,
    worker.projectPage(async (work) => {
      const { form, within } = work
      const institutionId = formId(form, 'institution_id')
      const requestId = formId(form, 'request_id')
      if (form.get('confirmed') !== 'on') throw invalid('confirmed', 'must be ticked')
      // An institution is of no project.
      const { key } = await within(undefined, () =>
        access.rotateInstitutionKey({ institutionId, requestId }),
      )
      return sendSecret(work, key)
    }),
  )
}

/** A secret on the only page that ever shows it. */
function sendSecret(
  { reply, project }: ProjectWork,
  made: { keyId: string; sharedKey: string; signingSecret: string } | undefined,
): FastifyReply {
  const { keyId = '', sharedKey = '', signingSecret = '' } = made ?? {}
  return sendSections(reply, {
    title: 'New signing secret',
    sections: [
      {
        warning:
          'This page shows the secret once. Give it to the institution and to every project that takes its callbacks.',
        note: 'Callbacks are signed with this secret and the one before, until the next rotation retires that one.',
        facts: [
          ['Signing secret', code(signingSecret)],
          ['Shared key', code(sharedKey)],
          ['Key id', code(keyId)],
          ['', { text: 'All secrets', href: `/projects/${project.projectId}/developers#signing` }],
        ],
        rpc: rotateRpc,
        commands: ['institution rotate'],
      },
    ],
  })
}

/** The live secrets of a project's institutions, by id. */
export async function signingSection(
  work: ProjectWork,
  { access }: Pick<Clients, 'access'>,
): Promise<Section> {
  const { projectId } = work.project
  const { keys } = await access.listSigningKeys({ projectId })
  const wanted = keys.filter(isOfInstitution(work.query))
  const { rows, nextPageToken } = rowsAt(wanted, work.query.get('signing'), pageSize)
  const file = `/projects/${projectId}/developers/signing-secrets.csv`
  return {
    id: 'signing',
    heading: 'Signing secrets',
    note: 'Callbacks of onboardings and registrations are signed with the live secrets of their institution, at most two. A secret is shown once, when it is made. Pushes of payments carry no signature: read the payment before you act on one.',
    facts: [['File', { text: 'CSV', href: withFilters(file, work.request.url) }]],
    table: {
      head: ['Institution', 'Key id', 'Since', 'Change'],
      empty: work.query.has('institution')
        ? noneMatches('secret')
        : 'None: the project uses no institution’s endpoints.',
      rows: rows.map((key) => [
        text(key.institutionName),
        code(key.keyId),
        { at: key.issueTime },
        rotateCell(work, key),
      ]),
    },
    ...nextPageUrl(work.request.url, nextPageToken, 'signing'),
    rpc: 'payweave.accounts.v1.AccessService/ListSigningKeys',
    commands: ['institution secrets', 'institution rotate'],
  }
}

function rotateCell(work: ProjectWork, { institutionId, isNewest }: SigningKey): Cell {
  // One form an institution: a rotation is of all of its secrets.
  if (!isNewest) return text('')
  if (!work.may(rotateRpc)) return text('administrators rotate')
  return {
    forms: [
      {
        action: `/projects/${work.project.projectId}/developers/signing-secrets/rotate`,
        button: 'Rotate',
        rpc: rotateRpc,
        hidden: { institution_id: institutionId, request_id: randomId() },
        fields: [
          {
            label: 'All projects get it',
            name: 'confirmed',
            type: 'checkbox',
            isRequired: true,
          },
        ],
      },
    ],
  }
}

const csvHead = ['institution_id', 'institution', 'key_id', 'since']

function csvCells(key: SigningKey): string[] {
  const since = timeOf(key.issueTime)?.iso ?? ''
  return [key.institutionId, key.institutionName, key.keyId, since]
}
