// An error that an operator has to fix: a file that is missing or malformed, or a schema of another version.

/** Its message names files and settings and never quotes their content, so that it may be logged. */
export class ConfigurationError extends Error {}
