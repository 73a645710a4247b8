// Reads PostgreSQL URLs that name several servers, as libpq writes them.
import { ConfigurationError } from '../process/configuration-error.ts'

/** The scheme with login, the hosts, and the rest. */
const pattern = /^(postgres(?:ql)?:\/\/(?:[^@/?#]*@)?)([^@/?#]*)(.*)$/
/** Both mean a server that takes writes. No other value makes sense here: a connection is to the primary, always. */
const sessions = ['primary', 'read-write']

/**
 * Returns one URL for each server of `postgres://user@a:5432,b/payweave?target_session_attrs=primary`, in their order;
 * a URL with one host gives one. Throws a ConfigurationError for what is no PostgreSQL URL, for an empty host, and for
 * a `target_session_attrs` other than `primary` or `read-write`. Source: PostgreSQL, libpq, "Connection URIs".
 */
export function serverUrls(url: string): string[] {
  const [, scheme = '', hosts = '', rest = ''] = pattern.exec(url) ?? []
  const names = hosts.split(',')
  return names.map((host) => {
    const text = `${scheme}${host}${rest}`
    if (scheme === '' || !URL.canParse(text) || (host === '' && names.length > 1)) {
      throw new ConfigurationError(
        'the database URL must be a postgres:// URL with one host or more',
      )
    }
    const { href, searchParams } = new URL(text)
    const wanted = searchParams.get('target_session_attrs')
    if (wanted === null) return href
    if (!sessions.includes(wanted)) {
      throw new ConfigurationError(
        `target_session_attrs in the database URL must be ${sessions.join(' or ')}`,
      )
    }
    const plain = new URL(text)
    plain.searchParams.delete('target_session_attrs')
    return plain.href
  })
}

/** Returns the same URL with some parts changed on each of its servers. Throws as `serverUrls` does. */
export function changeUrl(url: string, change: (one: URL) => void): string {
  const urls = serverUrls(url).map((one) => {
    const changed = new URL(one)
    change(changed)
    return changed
  })
  const [first] = urls
  if (first === undefined || urls.length === 1) return first?.href ?? url
  return first.href.replace(first.host, urls.map(({ host }) => host).join(','))
}

/** Returns the URL of the first server, for what all have in common. Throws as `serverUrls` does. */
export function firstOf(url: string): URL {
  return new URL(serverUrls(url)[0] ?? url)
}

/** Returns the hosts of a URL with their ports, comma-separated, for a log or an error. Throws as `serverUrls` does. */
export function hostsOf(url: string): string {
  return serverUrls(url)
    .map((one) => new URL(one).host)
    .join(', ')
}
