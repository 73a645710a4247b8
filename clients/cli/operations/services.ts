// Connections to several services at once, for commands that list what all of them have.
import type { SandboxFile } from '../../../deploy/local/sandbox-file.ts'
import type { CommandContext } from '../command.ts'
import { type Connection, connect } from '../connection.ts'

/** A service that a command calls. */
export type Part = keyof SandboxFile['grpc']

/** The options that say where these services are. */
export function servicesOptions(parts: readonly Part[]): Record<string, string> {
  return {
    'data-dir': 'data folder of "npm start" (PAYWEAVE_DATA_DIR, .payweave)',
    ...Object.fromEntries(
      parts.map((part) => [
        `${part}-url`,
        `address of ${part}, instead of the one in sandbox.json`,
      ]),
    ),
    token: 'bearer for these addresses (better: set PAYWEAVE_TOKEN)',
  }
}

/**
 * Does work with a connection to each of these services, and closes them. Rejects with a UsageError as `connect` does, and with
 * what the work rejects with.
 */
export async function withServices<P extends Part, T>(
  { options, env }: CommandContext,
  parts: readonly P[],
  work: (connections: Record<P, Connection>) => Promise<T>,
): Promise<T> {
  const open: Connection[] = []
  try {
    const connections = Object.fromEntries(
      parts.map((part) => {
        const connection = connect({ ...options, url: options[`${part}-url`] }, env, part)
        open.push(connection)
        return [part, connection]
      }),
    ) as Record<P, Connection>
    return await work(connections)
  } finally {
    await Promise.all(open.map((connection) => connection.close()))
  }
}
