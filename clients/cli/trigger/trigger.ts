// The type of a trigger: a scenario of the sandbox that causes one outcome.
import type { ApiResponse, Json } from '../api/api-call.ts'
import { type Client, errorCodeOf } from '../api/client.ts'
import type { Receiver, ReceiverKind } from '../api/receiver.ts'
import type { ProjectName, Target } from '../api/target.ts'

/** Dependencies of a trigger. */
export type TriggerContext = {
  target: Target
  shop: Client
  /** A client with the credentials of another project. */
  as(project: ProjectName): Client
  /** A new receiver at the simulator. Throws a UsageError when its address is not known. */
  receiver(kind?: ReceiverKind): Receiver
  /** How long it may wait for the outcome. */
  withinMs: number
}

/** One scenario. */
export type Trigger = {
  name: string
  summary: string
  /**
   * Causes the outcome and resolves to the facts to show. Rejects with OtherOutcome or NotAccepted when something else
   * happened, with NotInTime after `withinMs`, and as `Call` does.
   */
  run(context: TriggerContext): Promise<Json>
}

/** Thrown when a scenario had another outcome. */
export class OtherOutcome extends Error {}

/** The facts to show of an answer. */
export function shown({ status, body }: ApiResponse): Json {
  return { http_status: status, ...body }
}

/**
 * Makes a scenario whose call is answered at once with this status and error code (an empty code stands for none); it
 * throws OtherOutcome for any other answer.
 */
export function answered(
  name: string,
  summary: string,
  status: number,
  errorCode: string,
  send: (context: TriggerContext) => Promise<ApiResponse>,
): Trigger {
  return {
    name,
    summary,
    async run(context) {
      const answer = await send(context)
      const code = errorCodeOf(answer)
      // Errors of /quote carry no code.
      const isPlain = code === '' && answer.body['request_id'] === undefined
      if (answer.status === status && (code === errorCode || isPlain)) return shown(answer)
      const wanted = `${status} ${errorCode}`.trim()
      throw new OtherOutcome(`answered ${answer.status} ${code}, not ${wanted}`)
    },
  }
}
