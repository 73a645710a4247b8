// Reads the bearer for every call, also while its file is being replaced.
import { readFile } from 'node:fs/promises'

/** Where the bearer comes from: a text or a file that may be replaced at any time. Without either, none is sent. */
export interface CredentialOptions {
  token?: string
  tokenFile?: string
}

const rereadMs = 5_000

/**
 * Returns the value of `authorization` for one attempt, undefined to send none. Rejects with the system's error when
 * the file cannot be read.
 */
export type Credential = () => Promise<string | undefined>

/**
 * Makes the credential of a client. A file is read again after five seconds, so that a rotated bearer is used without a
 * restart. Throws a TypeError when both a token and a file are given.
 */
export function createCredential({ token, tokenFile }: CredentialOptions): Credential {
  if (token !== undefined && tokenFile !== undefined) {
    throw new TypeError('give token or tokenFile, not both')
  }
  if (tokenFile === undefined) {
    const value = token === undefined ? undefined : `Bearer ${token}`
    return () => Promise.resolve(value)
  }
  let last: { atMs: number; value: Promise<string> } | undefined
  return () => {
    const nowMs = performance.now()
    if (last === undefined || nowMs - last.atMs > rereadMs) {
      const value = readFile(tokenFile, 'utf8').then((text) => `Bearer ${text.trim()}`)
      // Not remembered when it fails: the next call reads the file again.
      value.catch(() => {
        last = undefined
      })
      last = { atMs: nowMs, value }
    }
    return last.value
  }
}
