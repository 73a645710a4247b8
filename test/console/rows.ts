// What the rows of the peers have in common: a text that tries to be everything but text, and a time.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'

/** A text that is no harm as text, and all harm as anything else. */
export const evil = `=cmd|' /C calc'!A0"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`

/** When everything of these services happened. */
export const time = timestampFromDate(new Date('2026-01-02T03:04:05Z'))

/** The texts of rows, by what they are. */
export type Texts = Record<
  'name' | 'number' | 'note' | 'id' | 'url' | 'body' | 'person' | 'pattern' | 'email',
  string
>

/** Every text is harmful as anything but text. */
export const evilTexts: Texts = {
  name: evil,
  number: evil,
  note: evil,
  id: evil,
  url: evil,
  body: evil,
  person: evil,
  pattern: evil,
  email: evil,
}

/** Texts as merchants write them. */
export const usualTexts: Texts = {
  name: 'Kofi Boateng',
  number: '+12025550101',
  note: 'Two tickets for Friday',
  id: 'order-1001',
  url: 'https://shop.example.com',
  body: '{"status":"PAID","transaction_id":"order-1001","amount":25.00}',
  person: 'console:ama@example.com',
  pattern: '[A-Z]\\d{7}',
  email: 'help@shop.example.com',
}

/** Makes a page of a list from one row. */
export type Many = <T>(row: T, pageSize: number) => T[]
