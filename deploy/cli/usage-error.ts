// Says that a command was written wrongly: exit code 2. It must not be thrown for anything that a service answers.

/** Thrown with a sentence for the person at the keyboard. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
