// Makes an outcome of the sandbox happen, as `payweave trigger` does. Only a console that was given a sandbox has these pages.
import type { FastifyInstance } from 'fastify'
import { Failure } from '#core/errors/errors.ts'
import { newId } from '#core/identity/id.ts'
import { Environment } from '#gen/payweave/accounts/v1/access_pb.js'
import { currentContext } from '#platform/rpc/context.ts'
import type { Clients, Record } from '../../clients.ts'
import { asFile, type ProjectWork, type Worker } from '../../http/work.ts'
import { code, type Section, text } from '../../pages/blocks.ts'
import { sendSections } from '../../pages/render.ts'
import type { Outcome, Sandbox } from '../../sandbox.ts'

type Options = { worker: Worker; clients: Clients; sandbox: Sandbox; record: Record }

/** A trigger makes payments: who may issue a key of the project may call with one. */
const needs = 'payweave.accounts.v1.AccessService/IssueApiKey'

/** Registers `/projects/<id>/developers/triggers`. */
export function registerTriggers(app: FastifyInstance, options: Options): void {
  const { worker, clients, sandbox, record } = options
  const path = '/projects/:projectId/developers/triggers'
  const running = new Set<string>()
  app.get(
    path,
    worker.projectPage(async (work) => {
      await requireSandbox(work, clients, sandbox)
      return show(work, sandbox)
    }),
  )
  app.post(
    path,
    worker.projectPage(async (work) => {
      await requireSandbox(work, clients, sandbox)
      const { person } = work.session
      if (running.has(person)) {
        throw new Failure('RATE_LIMIT_EXCEEDED', 'Your last trigger is still at work.')
      }
      running.add(person)
      try {
        return await run(work, sandbox, record)
      } finally {
        running.delete(person)
      }
    }, asFile),
  )
}

/** Throws PERMISSION_DENIED for other roles, ENDPOINT_NOT_FOUND for a project that is not the sandbox's own. */
async function requireSandbox(
  { may, project: { projectId } }: ProjectWork,
  { access }: Clients,
  sandbox: Sandbox,
): Promise<void> {
  if (!may(needs)) throw new Failure('PERMISSION_DENIED', 'Your roles do not allow this.')
  const { project } = await access.getProject({ projectId })
  if (project?.name === sandbox.project && project.environment === Environment.SANDBOX) return
  throw new Failure('ENDPOINT_NOT_FOUND', `Triggers use the keys of ${sandbox.project} alone.`)
}

function subjectOf({ name }: { name: string }): string {
  return name.split('.')[0] ?? ''
}

function show({ reply, project, query }: ProjectWork, { triggers }: Sandbox) {
  const subjects = [...new Set(triggers.map(subjectOf))]
  const subject = query.get('subject') ?? subjects[0] ?? ''
  const action = `/projects/${project.projectId}/developers/triggers`
  return sendSections(reply, {
    title: 'Make it happen',
    sections: [
      {
        note: 'Each button sends the requests of one outcome to the API, with the keys of this project, and waits up to 20 s for it. `payweave trigger` does the same.',
        filters: {
          fields: [
            {
              label: 'Outcomes of',
              name: 'subject',
              type: 'select',
              value: subject,
              options: subjects.map((value) => ({ value, label: value })),
            },
          ],
        },
        table: {
          head: ['Outcome', 'What happens', 'Do it'],
          empty: 'There is no such outcome.',
          rows: triggers
            .filter((one) => subjectOf(one) === subject)
            .map(({ name, summary }) => [
              code(name),
              text(summary),
              {
                forms: [
                  { action, button: 'Make it happen', rpc: undefined, hidden: { trigger: name } },
                ],
              },
            ]),
        },
      },
    ],
  })
}

async function run(work: ProjectWork, sandbox: Sandbox, record: Record) {
  const { form, reply, session, project } = work
  const name = form.get('trigger') ?? ''
  if (!sandbox.triggers.some((one) => one.name === name)) {
    throw new Failure('ENDPOINT_NOT_FOUND', 'There is no such outcome.')
  }
  const { projectId } = project
  await record({
    activityId: newId(),
    sessionId: session.sessionId,
    person: session.person,
    rpc: `payweave trigger ${name}`,
    projectId,
    target: '',
    requestId: currentContext()?.requestId ?? newId(),
  })
  const outcome = (await sandbox.run(name)) ?? { calls: [] }
  return sendSections(
    reply,
    { title: name, sections: [factsSection(outcome, projectId), callsSection(outcome)] },
    outcome.mistake === undefined ? 200 : 409,
  )
}

function factsSection({ facts, mistake }: Outcome, projectId: string): Section {
  const base = `/projects/${projectId}`
  return {
    ...(mistake === undefined
      ? { source: JSON.stringify(facts, null, 2) }
      : { warning: `It has not happened: ${mistake}.` }),
    facts: [
      ['', { text: 'Payments', href: `${base}/payments` }],
      ['', { text: 'API log', href: `${base}/api-log` }],
      ['', { text: 'Another outcome', href: `${base}/developers/triggers` }],
    ],
  }
}

function callsSection({ calls }: Outcome): Section {
  return { heading: 'Requests', source: calls.join('\n\n') }
}
