// The type of a trigger: a scenario of the sandbox that causes one outcome.
import type { Answer, Json } from '../api/api-call.ts'
import { type Client, errorCodeOf } from '../api/client.ts'
import type { Receiver, ReceiverKind } from '../api/receiver.ts'
import type { ProjectName, Target } from '../api/target.ts'

/** What a trigger works with. */
export type TriggerWorld = {
  target: Target
  shop: Client
  as(project: ProjectName): Client
  receiver(kind?: ReceiverKind): Receiver
  /** How long it may wait for the outcome. */
  withinMs: number
}

/** One row. `run` answers what is to be shown, and fails when the outcome is another one. */
export type Trigger = {
  name: string
  summary: string
  run(world: TriggerWorld): Promise<Json>
}

/** Thrown when something else came of it. */
export class OtherOutcome extends Error {}

/** What is shown of an answer. */
export function shown({ status, body }: Answer): Json {
  return { http_status: status, ...body }
}

/** A row whose call is answered at once: with that status and that error code, or with none. */
export function answered(
  name: string,
  summary: string,
  status: number,
  errorCode: string,
  send: (world: TriggerWorld) => Promise<Answer>,
): Trigger {
  return {
    name,
    summary,
    async run(world) {
      const answer = await send(world)
      const code = errorCodeOf(answer)
      // Errors of /quote carry no code.
      const isPlain = code === '' && answer.body['request_id'] === undefined
      if (answer.status === status && (code === errorCode || isPlain)) return shown(answer)
      const wanted = `${status} ${errorCode}`.trim()
      throw new OtherOutcome(`answered ${answer.status} ${code}, not ${wanted}`)
    },
  }
}
