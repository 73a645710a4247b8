// An error that an operator has to fix: a file that is missing or malformed, or a schema of another version.

/** A mistake in files or settings. The message names them and never quotes their content, so that it may be logged. */
export class ConfigurationError extends Error {}
