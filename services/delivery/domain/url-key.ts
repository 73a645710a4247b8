// Keys of URLs, by which tables know them.
import { hash } from 'node:crypto'

/** The key of a URL within its lane, as SQL makes it too (`url_key`). */
export function urlKey(url: string): Buffer {
  return urlDigest(url).subarray(0, 16)
}

/** The key of gone_url for a URL. */
export function urlDigest(url: string): Buffer {
  return hash('sha256', url, 'buffer')
}
