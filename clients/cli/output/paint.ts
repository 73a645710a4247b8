// Colours of the output, by Node's own rules: only on a terminal that has colours, and none with NO_COLOR.
import type { WriteStream } from 'node:tty'
import { styleText } from 'node:util'

const formats = {
  heading: 'bold',
  faint: 'dim',
  good: 'green',
  bad: 'red',
  waiting: 'yellow',
} as const

/** What a text is, which decides its colour. */
export type Kind = keyof typeof formats

/** Puts the colour of its kind around a text; returns the text alone where there are no colours. */
export type Paint = (kind: Kind | undefined, text: string) => string

/** Makes the function that colours texts for a stream. */
export function painterFor(stream: NodeJS.WritableStream, env: NodeJS.ProcessEnv): Paint {
  if (!hasColors(stream, env)) return (_, text) => text
  return (kind, text) =>
    kind === undefined ? text : styleText(formats[kind], text, { validateStream: false })
}

/** Whether a stream is a terminal with colours, which NO_COLOR, TERM and others of the environment decide. */
export function hasColors(stream: NodeJS.WritableStream, env: NodeJS.ProcessEnv): boolean {
  return 'hasColors' in stream && (stream as WriteStream).hasColors(env)
}

const kinds: Partial<Record<Kind, Set<string>>> = {
  good: new Set('active approved closed completed delivered ok paid ready success'.split(' ')),
  bad: new Set('blocked down exhausted expired failed gone open rejected revoked'.split(' ')),
  waiting: new Set('half_open pending processing partially_paid sending warning'.split(' ')),
}

/** What the name of a state or an HTTP status says: that something went well, failed or is not over. */
export function kindOfState(state: string): Kind | undefined {
  if (/^\d{3}$/.test(state)) return state < '400' ? 'good' : state < '500' ? 'waiting' : 'bad'
  const word = state.toLowerCase().replace('not ready', 'down')
  return (Object.keys(kinds) as Kind[]).find((kind) => kinds[kind]?.has(word))
}
