// An error that the person who starts can fix: it is printed without a stack.

/** A start that cannot succeed as things are; the message says what to do. */
export class LaunchError extends Error {}
