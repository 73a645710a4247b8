// The error for a command that was written wrongly: exit code 2. Not for anything that a service answers.

/** Thrown with a sentence for the person who typed the command. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
