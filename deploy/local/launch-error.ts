// What the person who starts can put right: it is printed as it is, without a stack.

/** A start that cannot succeed as things are; the message says what to do. */
export class LaunchError extends Error {}
