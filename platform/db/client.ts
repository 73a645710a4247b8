// The client of every connection to PostgreSQL: reads the password from its file each time, and accepts a primary only.
import { Client } from 'pg'
import { ConfigurationError } from '../process/configuration-error.ts'
import { readPassword } from './login.ts'

/** The server is a standby, as a primary is after a switchover. Its code is the SQLSTATE of a refused write. */
class StandbyError extends ConfigurationError {
  readonly code = '25006'
}

type Callback = (error?: Error) => void
type GivenCallback = ((error: Error) => void) | ((error: null, client: Client) => void)

/**
 * Makes the class of clients for a pool. With `passwordFile`, the file is read at each connection, so that a new
 * password needs no restart.
 */
export function clientBy(passwordFile: string | undefined): typeof Client {
  class PrimaryClient extends Client {
    /**
     * Called by the pool with a callback, by others to be awaited. Fails with a ConfigurationError (no password in the
     * file), a StandbyError, or the driver's error.
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
      // The server reports its role while it connects, so no query is needed.
      let isStandby = false
      this.connection.on('parameterStatus', (status: Parameter) => {
        if (status.parameterName === 'in_hot_standby') isStandby = status.parameterValue === 'on'
      })
      super.connect((error: Error | null) => {
        if (error || !isStandby) {
          callback(error ?? undefined)
          return
        }
        this.end(() => callback(new StandbyError('the database server is a standby')))
      })
    }
  }
  return PrimaryClient
}

type Parameter = { parameterName: string; parameterValue: string }
