// The error for a command that was used wrongly, which means exit code 2. Errors of services are not of this kind.

/** Thrown with a sentence for the person who typed the command. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
