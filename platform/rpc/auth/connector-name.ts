// The names of connectors, which each installation chooses.

const pattern = /^connector-[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?$/

/** Whether a process of this name is a connector: `connector-` and up to 22 small letters, digits and hyphens. */
export function isConnector(name: string): boolean {
  return pattern.test(name)
}
