// The client of every connection to PostgreSQL: reads the password from its file each time, and accepts a primary of a
// supported version only.
import { Client, type ClientConfig } from 'pg'
import { ConfigurationError } from '../process/configuration-error.ts'
import { readPassword } from './login.ts'
import { serverUrls } from './server-urls.ts'

/** On PostgreSQL 15 concurrent changes of one payment wait for each other until they time out. */
const minVersion = 16

/**
 * A machine that runs normally completes a TCP connection in this time, also when one packet is lost: it is sent again
 * after 1 s. A machine that is lost answers nothing.
 */
const reachedWithinMs = 1_500

/** The server is a standby, as a primary is after a switchover. Its code is the SQLSTATE of a refused write. */
class StandbyError extends ConfigurationError {
  readonly code = '25006'
}

/** The machine of the server answers nothing. The fields are those of the system's error when it gives up by itself. */
class UnreachableError extends Error {
  readonly code = 'ETIMEDOUT'
  readonly syscall = 'connect'
  readonly address: string
  readonly port: number

  constructor(address: string, port: number) {
    super('the database server is unreachable')
    this.address = address
    this.port = port
  }
}

/** The server is older than this release supports. */
export class VersionError extends ConfigurationError {
  constructor(version: string) {
    super(`PostgreSQL ${version} is too old; use ${minVersion} or newer`)
  }
}

type Callback = (error?: Error) => void
type GivenCallback = ((error: Error) => void) | ((error: null, client: Client) => void)

/** How to connect: a URL of one server or several, and the file with the password, when the URL does not hold it. */
export type Access = { url: string; passwordFile?: string | undefined }

/**
 * Makes the class of clients for a pool. The password file is read at each connection, so that a new password needs no
 * restart. After a failed connection the next client tries the next server. Throws as `serverUrls` does.
 */
export function clientBy({ url, passwordFile }: Access): typeof Client {
  const urls = serverUrls(url)
  let tried = 0
  class PrimaryClient extends Client {
    readonly #server: number

    constructor(config: ClientConfig) {
      super({ ...config, connectionString: urls[tried % urls.length] })
      this.#server = tried
    }

    /**
     * Called by the pool with a callback, by others to be awaited. Fails with a ConfigurationError (no password in the
     * file), a StandbyError, a VersionError, an UnreachableError, or the driver's error.
     */
    override connect(): Promise<Client>
    override connect(callback: GivenCallback): void
    override connect(callback?: GivenCallback): Promise<Client> | undefined {
      if (callback !== undefined) {
        this.open(callback as Callback)
        return undefined
      }
      const { promise, resolve, reject } = Promise.withResolvers<Client>()
      this.open((error) => {
        if (error) reject(error)
        else resolve(this)
      })
      return promise
    }

    open(callback: Callback): void {
      try {
        // Read before connecting: if the driver found no password only after it had connected, it would leave the
        // connection open until the server's authentication_timeout.
        if (passwordFile !== undefined) {
          Object.assign(this, { password: readPassword(passwordFile) })
        }
      } catch (error) {
        process.nextTick(callback, error)
        return
      }
      limitReaching(this.connection)
      // The server reports its version and its role while it connects, so no query is needed.
      let refusal: Error | undefined
      this.connection.on('parameterStatus', (status: Parameter) => {
        refusal ??= refusalOf(status)
      })
      super.connect((error: Error | null) => {
        const failed = error ?? refusal
        if (failed !== undefined && this.#server === tried) tried += 1
        if (error || refusal === undefined) callback(error ?? undefined)
        else this.end(() => callback(refusal))
      })
    }
  }
  return PrimaryClient
}

/** Ends a connection whose server is not reached in time. What follows, such as the login, has the limits of the caller. */
function limitReaching({ stream }: Client['connection']): void {
  let timer: NodeJS.Timeout | undefined
  let isOver = false
  // The time begins once the name is resolved, for each of its addresses: a slow name server takes none of it.
  stream.on('connectionAttempt', (address: string, port: number) => {
    const giveUp = () => {
      if (!isOver) stream.destroy(new UnreachableError(address, port))
    }
    clearTimeout(timer)
    // After a stall of this process the connection may be complete and not noticed yet: that comes before immediates.
    timer = setTimeout(() => setImmediate(giveUp), reachedWithinMs)
  })
  for (const event of ['connect', 'close']) {
    stream.once(event, () => {
      isOver = true
      clearTimeout(timer)
    })
  }
}

function refusalOf({ parameterName: name, parameterValue: value }: Parameter): Error | undefined {
  if (name === 'in_hot_standby' && value === 'on') {
    return new StandbyError('the database server is a standby')
  }
  if (name === 'server_version' && Number.parseInt(value, 10) < minVersion) {
    return new VersionError(value)
  }
  return undefined
}

/**
 * Connects to the primary among the servers of a URL, outside of a pool. The caller ends the client. Rejects as a client's
 * `connect` does, with what the last of the servers said.
 */
export async function connectClient(access: Access, config: ClientConfig): Promise<Client> {
  const OwnClient = clientBy(access)
  for (let left = serverUrls(access.url).length; ; left -= 1) {
    const client = new OwnClient(config)
    try {
      await client.connect()
      return client
    } catch (error) {
      if (left <= 1) throw error
    }
  }
}

type Parameter = { parameterName: string; parameterValue: string }
