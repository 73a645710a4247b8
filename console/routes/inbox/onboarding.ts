// A new customer whose profile waits for a decision: what they sent, and the decision of a person.
import type { FastifyInstance } from 'fastify'
import { Failure, invalid } from '#core/errors/errors.ts'
import {
  AccountStatus,
  FundsAccessStatus,
  OnboardingStatus,
} from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import type {
  Onboarding,
  OnboardingArtefact,
  OnboardingDuplicate,
} from '#gen/payweave/accounts/v1/onboarding_pb.js'
import type { Clients } from '../../clients.ts'
import { asFile, pathId, type Work, type Worker } from '../../http/work.ts'
import {
  type Cell,
  code,
  type Field,
  type Form,
  noticeOf,
  row,
  type Section,
  text,
} from '../../pages/blocks.ts'
import { sendSections } from '../../pages/render.ts'
import { choices, valueOf, wordOf } from '../../pages/words.ts'
import { firstRows } from '../list.ts'
import { claimNotices, decideClaimed, readClaims } from './claims.ts'

type Options = { worker: Worker; clients: Clients }

/** Registers `/inbox/onboardings/<id>`, its files and its decisions. */
export function registerOnboarding(app: FastifyInstance, { worker, clients }: Options): void {
  const path = '/inbox/onboardings/:reviewId'
  app.get(
    path,
    worker.page((work) => show(work, clients)),
  )
  app.get(
    `${path}/files/:artefactId`,
    worker.page((work) => sendFile(work, clients), asFile),
  )
  app.post(
    `${path}/accept`,
    worker.page(async (work) => {
      const { form } = work
      const fundsAccessStatus = valueOf(FundsAccessStatus, form.get('funds_access'))
      if (fundsAccessStatus === undefined) throw invalid('funds_access', 'must be one of the three')
      const value = {
        accountLevel: levelOf(form.get('level')),
        fundsAccessStatus,
        currency: form.get('currency')?.trim().toUpperCase() ?? '',
      }
      return await decide(work, clients, { case: 'completed', value })
    }),
  )
  app.post(
    `${path}/reject`,
    worker.page((work) => decide(work, clients, { case: 'rejected', value: true })),
  )
}

const levels = ['0', '1', '2']

function levelOf(text: string | null): number {
  if (text === null || !levels.includes(text)) throw invalid('level', 'must be 0, 1 or 2')
  return Number(text)
}

type Outcome = NonNullable<Parameters<Clients['onboardings']['decideOnboarding']>[0]['outcome']>

async function decide(work: Work, clients: Clients, outcome: Outcome) {
  const { reply, form } = work
  const { reviewId } = pathId(work, 'reviewId')
  const reason = form.get('reason')?.trim() ?? ''
  const { status } = await decideClaimed(work, clients, 'onboarding', reviewId, () =>
    clients.onboardings.decideOnboarding({ reviewId, outcome, reason }),
  )
  const stands = status === OnboardingStatus.COMPLETED ? 'accepted' : 'rejected'
  const isAsked = (outcome.case === 'completed') === (stands === 'accepted')
  return reply.redirect(`/inbox?notice=${isAsked ? stands : `${stands}_instead`}`, 303)
}

async function show(work: Work, clients: Clients) {
  const { reply, query } = work
  const { onboarding } = await clients.onboardings.getOnboarding(pathId(work, 'reviewId'))
  if (onboarding === undefined) throw new Error('an answer without its profile')
  const { reviewId, firstName, lastName } = onboarding
  const claim = await readClaims(work, clients, [['onboarding', reviewId]])
  const forms = decisionForms(`/inbox/onboardings/${reviewId}`)
  const [who, does] = claim('onboarding', reviewId, forms)
  const decision = {
    heading: 'Decision',
    note: 'The first decision stands, yours or that of the back end. The client is called back with it, not with the reason.',
    facts: [['Claimed by', who] satisfies [string, Cell]],
    forms: 'forms' in does ? does.forms : [],
    rpc: 'payweave.accounts.v1.OnboardingService/DecideOnboarding',
    commands: ['onboarding show', 'onboarding accept', 'onboarding reject'],
  }
  return sendSections(reply, {
    title: `Onboarding of ${firstName} ${lastName}`,
    notice: noticeOf(query, claimNotices),
    sections: [
      profileSection(onboarding),
      filesSection(onboarding),
      duplicatesSection(onboarding),
      decision,
    ],
  })
}

function profileSection(onboarding: Onboarding): Section {
  const { details, numberTaken } = onboarding
  const given = Object.entries(details).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return {
    warning: numberTaken
      ? 'An account of the institution already has this number: the profile can only be rejected.'
      : undefined,
    facts: [
      ['First name', text(onboarding.firstName)],
      ['Last name', text(onboarding.lastName)],
      ['Number', text(onboarding.mobileNumber)],
      ['E-mail', text(onboarding.email)],
      ['Institution', text(onboarding.institutionName)],
      ['Project', code(onboarding.projectId, `/projects/${onboarding.projectId}/payments`)],
      ['Since', { at: onboarding.createTime }],
      ...given.map(([name, value]): [string, Cell] => [name.replaceAll('_', ' '), text(value)]),
    ],
    rpc: 'payweave.accounts.v1.OnboardingService/GetOnboarding',
  }
}

function filesSection({ reviewId, artefacts }: Onboarding): Section {
  return {
    heading: 'Files',
    table: {
      head: artefacts.map(({ field }) => field),
      empty: 'The profile came without files.',
      rows:
        artefacts.length === 0
          ? []
          : [
              artefacts.map((one) =>
                fileCell(one, `/inbox/onboardings/${reviewId}/files/${one.artefactId}`),
              ),
              artefacts.map(({ mediaType, sizeBytes }) => text(`${mediaType}, ${sizeBytes} bytes`)),
            ],
    },
    rpc: 'payweave.accounts.v1.OnboardingService/ReadOnboardingArtefact',
    commands: ['onboarding file'],
  }
}

/** Shown beside the profile; more would not be read side by side. */
const maxBeside = 3

function duplicatesSection(onboarding: Onboarding): Section {
  const { duplicates, institutionName } = onboarding
  const { rows: shown, cut } = firstRows(duplicates, maxBeside)
  const line = (name: string, own: string, of: (one: OnboardingDuplicate) => string) => [
    text(name),
    text(own),
    ...shown.map((one) => text(`${of(one)}${own !== '' && of(one) === own ? ' (same)' : ''}`)),
  ]
  return {
    heading: 'Duplicates',
    note: `Others at ${institutionName} with the same number or e-mail address.${cut}`,
    table: {
      head: ['', 'This profile', ...shown.map((_, at) => `Duplicate ${at + 1}`)],
      empty: 'Nobody else has the number or the e-mail address.',
      rows:
        shown.length === 0
          ? []
          : [
              line('First name', onboarding.firstName, (one) => one.firstName),
              line('Last name', onboarding.lastName, (one) => one.lastName),
              line('Number', onboarding.mobileNumber, (one) => one.mobileNumber),
              line('E-mail', onboarding.email, (one) => one.email),
              line('Account', '', (one) => one.accountNumber),
              [
                text('State'),
                text('open'),
                ...shown.map(({ reviewId, status }) =>
                  reviewId === ''
                    ? text(wordOf(AccountStatus, status))
                    : row('open', `/inbox/onboardings/${reviewId}`),
                ),
              ],
              [
                text('Since'),
                { at: onboarding.createTime },
                ...shown.map(({ createTime }) => ({ at: createTime })),
              ],
            ],
    },
  }
}

/** What a browser may be given, by media type; only pictures are shown in a page. */
const kinds: Readonly<Record<string, { ending: string; isPicture: boolean }>> = {
  'image/jpeg': { ending: 'jpg', isPicture: true },
  'image/png': { ending: 'png', isPicture: true },
  'application/pdf': { ending: 'pdf', isPicture: false },
}

function fileCell({ field, mediaType }: OnboardingArtefact, href: string): Cell {
  if (kinds[mediaType]?.isPicture === true) return { image: href, alt: field }
  return { text: 'Download', href }
}

/** Answers with a file that a client sent: it is what its type says and nothing else, and runs nothing. */
async function sendFile(work: Work, { onboardings }: Clients) {
  const { reviewId } = pathId(work, 'reviewId')
  const { artefactId } = pathId(work, 'artefactId')
  const { onboarding } = await onboardings.getOnboarding({ reviewId })
  const { mediaType = '' } =
    onboarding?.artefacts.find((one) => one.artefactId === artefactId) ?? {}
  const kind = kinds[mediaType]
  if (kind === undefined) throw new Failure('ENDPOINT_NOT_FOUND', 'There is no such file.')
  void work.reply.headers({
    'content-security-policy': "default-src 'none'; sandbox",
    'content-disposition': `${kind.isPicture ? 'inline' : 'attachment'}; filename="${artefactId}.${kind.ending}"`,
  })
  async function* chunks() {
    const messages = onboardings.readOnboardingArtefact({ reviewId, artefactId })
    for await (const { chunk } of messages) yield chunk
  }
  return work.stream(mediaType, chunks())
}

const decideRpc = 'payweave.accounts.v1.OnboardingService/DecideOnboarding'

function decisionForms(base: string): Form[] {
  const reason: Field = {
    label: 'On what evidence',
    name: 'reason',
    maxlength: 500,
    isRequired: true,
  }
  return [
    {
      action: `${base}/accept`,
      button: 'Accept',
      rpc: decideRpc,
      fields: [
        {
          label: 'Account level',
          name: 'level',
          type: 'select',
          options: levels.map((value) => ({ value, label: value })),
        },
        {
          label: 'Funds access',
          name: 'funds_access',
          type: 'select',
          options: choices(FundsAccessStatus),
        },
        { label: 'Currency, if not the institution’s', name: 'currency', maxlength: 3 },
        reason,
      ],
    },
    {
      action: `${base}/reject`,
      button: 'Reject',
      rpc: decideRpc,
      isDangerous: true,
      fields: [reason],
    },
  ]
}
