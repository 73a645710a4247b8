// The stream and the durable consumers that the broker must have.

/** The stream of events. `replicas` is the number of servers that keep a copy, 3 in production. */
export type StreamOptions = { name: string; subjects: string[]; replicas: number }

/** A durable pull consumer of one subject; the subject may end in `.*`. */
export type DurableOptions = { durable: string; subject: string }

/** The stream of an installation with one server. */
export const eventStream: StreamOptions = { name: 'PAYWEAVE', subjects: ['pw.>'], replicas: 1 }

/**
 * The subjects that each process consumes. The stream controller makes the consumers, and the process may only read
 * them.
 */
export const consumedSubjects = {
  accounts: ['pw.payments.settled'],
  delivery: ['pw.payments.*', 'pw.accounts.onboarding'],
} as const satisfies Record<string, readonly string[]>

/** The name of the durable consumer by which `consumer` receives a subject. */
export function durableName(consumer: string, subject: string): string {
  return `${consumer}-${subject.replace('*', 'all').replaceAll('.', '-')}`
}

/** The durable consumers of all processes in `subjects`, by consumer. */
export function durablesOf(subjects: Record<string, readonly string[]>): DurableOptions[] {
  return Object.entries(subjects).flatMap(([consumer, own]) =>
    own.map((subject) => ({ durable: durableName(consumer, subject), subject })),
  )
}
