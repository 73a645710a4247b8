// What pages are built from: facts, tables, forms and filters, as data that the templates of the same names render.
import type { timestampDate } from '@bufbuild/protobuf/wkt'
import type { Money } from '#gen/payweave/types/v1/types_pb.js'
import type { PersonsRpc } from '#platform/rpc/auth/roles.ts'
import type { Chart, Trend } from './chart/chart.ts'
import { choices, money } from './words.ts'

/** A time, or none. */
type Time = Parameters<typeof timestampDate>[0] | undefined

/** One value as a page shows it. */
export type Cell =
  | { text: string; href?: string | undefined; as?: 'code' | 'amount' | 'row' | undefined }
  | { state: string }
  | { at: Time; by?: string | undefined; href?: string }
  | { forms: Form[] }
  | { sends: RowForm; value: string }
  | { image: string; alt: string }
  | { trend: Trend }

/** A plain text. */
export function text(value: string | number | bigint): Cell {
  return { text: String(value) }
}

/** An id; with a path it leads to the thing. */
export function code(value: string, href?: string): Cell {
  return { text: value, href, as: 'code' }
}

/** The link that opens a row of a list: `j` and `k` go through these. */
export function row(value: string, href: string): Cell {
  return { text: value, href, as: 'row' }
}

/** A formatted amount. */
export function amount(value: string): Cell {
  return { text: value, as: 'amount' }
}

/** A number that is compared with those above and below it; with a unit where it has one: `34 ms`. */
export function count(value: number | bigint | string): Cell {
  return { text: String(value), as: 'amount' }
}

/** Money of a message; nothing where it has none. */
export function moneyCell(value: Money | undefined): Cell {
  return amount(value === undefined ? '' : money(value.minorUnits, value.currency))
}

/** A field of a form or filter. */
export type Field = {
  label: string
  name: string
  value?: string | undefined
  type?:
    | 'text'
    | 'number'
    | 'datetime-local'
    | 'textarea'
    | 'select'
    | 'checkbox'
    | 'file'
    | undefined
  options?: { value: string; label: string }[] | undefined
  maxlength?: number | undefined
  isRequired?: boolean | undefined
  /** The media type of a file. */
  accept?: string | undefined
  /** What is wrong with what was sent. */
  mistake?: string | undefined
}

/** What a form calls, which its page shows as commands; undefined where no RPC does it. */
type FormRpc = PersonsRpc | readonly PersonsRpc[] | undefined

/** A form that changes something. `hidden` are its fields that nobody fills in. */
export type Form = {
  action: string
  button: string
  rpc: FormRpc
  isDangerous?: boolean | undefined
  hidden?: Record<string, string> | undefined
  fields?: Field[] | undefined
  /** A second button, which sends the same into a frame of the page. */
  second?: { action: string; button: string; frame: string } | undefined
}

/** A form of a section that the buttons of its rows send, each with a value of its own: a small page has one token for all of them. */
export type RowForm = {
  id: string
  action: string
  button: string
  name: string
  rpc: FormRpc
}

/** A page of ours within a page; forms name it. */
export type Frame = { name: string; title: string; path: string }

/** A list with its heads; `empty` is shown where it has no rows and says what to do. */
export type Table = { head: string[]; rows: Cell[][]; empty: string }

/** A number that a glance must find, with its state and what belongs to it. */
export type Tile = { state: string; figure: string; details: string[] }

/** The filters of a list and the links beside them. */
export type Filters = { fields: Field[]; links?: { label: string; href: string }[] }

/** A part of a page, from its heading to the links to older rows. */
export type Section = {
  /** Where a link to this part leads. */
  id?: string | undefined
  heading?: string | undefined
  note?: string | undefined
  warning?: string | undefined
  /** A text as it is, such as a file. */
  source?: string | undefined
  facts?: [name: string, value: Cell][] | undefined
  filters?: Filters | undefined
  tiles?: Tile[] | undefined
  chart?: Chart | undefined
  table?: Table | undefined
  forms?: Form[] | undefined
  rowForm?: RowForm | undefined
  frame?: Frame | undefined
  firstUrl?: string | undefined
  nextUrl?: string | undefined
  /** `pkg.Service/Method` of what it shows; several where it shows what several answer. */
  rpc?: string | readonly string[] | undefined
  /** Commands of `payweave` that do the same: `stuck list`. */
  commands?: readonly string[] | undefined
}

/** What a page reports after an action, by the value of `notice` in its address. */
export type Notices = Readonly<Record<string, string>>

/** The notice that the address names; undefined for none and for one that the page does not have. */
export function noticeOf(query: URLSearchParams, notices: Notices): string | undefined {
  const name = query.get('notice') ?? ''
  return Object.hasOwn(notices, name) ? notices[name] : undefined
}

/** A page of sections, which the template `page` renders. `q` is what was searched for. */
export type Page = {
  title: string
  notice?: string | undefined
  q?: string | undefined
  sections: Section[]
}

/** The choice of one of some words, or of any; the query says which is chosen. */
export function chosenWord(
  label: string,
  name: string,
  words: readonly string[],
  query: URLSearchParams,
): Field {
  const options = [{ value: '', label: 'any' }, ...words.map((value) => ({ value, label: value }))]
  return { label, name, type: 'select', value: query.get(name) ?? '', options }
}

/** The choice of a word of an enum, or of any; the query says which is chosen. */
export function chosen(
  label: string,
  name: string,
  names: Readonly<Record<number, string>>,
  query?: URLSearchParams,
): Field {
  const options = [{ value: '', label: 'any' }, ...choices(names)]
  return { label, name, type: 'select', value: query?.get(name) ?? '', options }
}
