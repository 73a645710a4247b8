// Reads the setting that names the addresses of several parts.
import { origins, type Reader } from './values.ts'

/** The origins of several parts, each by its name. */
export const partOrigins: Reader<readonly { part: string; url: string }[]> = {
  of: 'part=http(s)://host[:port], by commas',
  read: (text) =>
    text.split(',').map((item) => {
      const [part = '', url = '', ...rest] = item.trim().split('=')
      if (!/^[a-z-]{1,40}$/.test(part) || rest.length > 0) {
        throw new Error('must be part=origin, by commas')
      }
      return { part, url: origins.read(url) }
    }),
}
