// The heads of the frames of calls and answers: path, status and headers as JSON.

import type { AnswerHeaders, CallHead } from '../server/unary-answer.ts'

/** Names in lower case. */
export type LinkedHeaders = Record<string, string>

/** Whether an answer is one that an empty head stands for: status 200 and no header but its content type. */
export function isDefaultHead(status: number, headers: AnswerHeaders): boolean {
  if (status !== 200) return false
  for (const name in headers) if (name !== 'content-type') return false
  return true
}

/** Reads the head of a call. Throws a RangeError for any other text. */
export function readHead(head: string): [path: string, headers: LinkedHeaders] {
  const parsed = parseJson(head)
  const [path, headers] = Array.isArray(parsed) ? parsed : []
  if (typeof path !== 'string' || typeof headers !== 'object' || headers === null) {
    throw new RangeError('no head of a call')
  }
  for (const name in headers) {
    if (typeof headers[name] !== 'string') throw new RangeError('no head of a call')
  }
  return [path, headers]
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new RangeError('no head')
  }
}

/** The head of a call, parsed into objects on demand. */
export class LinkedHead implements CallHead {
  readonly #path: string
  readonly #headers: LinkedHeaders

  constructor(path: string, headers: LinkedHeaders) {
    this.#path = path
    this.#headers = headers
  }

  get url(): string {
    return `http://${this.#headers['host'] ?? 'localhost'}${this.#path}`
  }

  get header(): Headers {
    return new Headers(this.#headers)
  }
}
