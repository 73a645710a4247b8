// Parses a list of ports of other machines.
import { fail, integer, type Reader } from './values.ts'

/** Ports of other machines; empty for none. */
export const hostPorts: Reader<readonly { host: string; port: number }[]> = {
  of: 'host:port, comma-separated',
  read: (text) =>
    text === ''
      ? []
      : text.split(',').map((one) => {
          const [, name = '', port = ''] =
            /^([A-Za-z0-9.-]{1,253}):(\d{1,5})$/.exec(one.trim()) ?? []
          if (name === '') fail('must be host:port, comma-separated')
          return { host: name, port: integer(1, 65_535).read(port) }
        }),
}
