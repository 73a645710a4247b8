// How people are shown: records name them by an id of the identity provider, pages by their address.
import type { Database } from '#platform/db/db.ts'
import { findPeople, findPersonOfEmail } from '../store/person-store.ts'

/** A name of the records as a page shows it: the address of a person, or the name of a bearer or process as it is. */
export type NameOf = (name: string) => string

/** Looks people up. */
export type People = ReturnType<typeof openPeople>

const prefix = 'console:'

/** How audits, claims and approvals name a person. */
export function recordName(person: string): string {
  return `${prefix}${person}`
}

/** People in the console's database. */
export function openPeople(db: Database) {
  return {
    /**
     * Reads the people among these names of records. One without a verified address is shown by their name and id, one who has
     * never signed in here, such as one of an old record, as the record names them.
     */
    async namesOf(names: readonly string[]): Promise<NameOf> {
      const ids = [...new Set(names.map(personIn).filter((one) => one !== ''))]
      const people = ids.length === 0 ? [] : await findPeople(db, ids)
      const shown = new Map(people.map((one) => [one.person, shownName(one)]))
      return (name) => shown.get(personIn(name)) ?? personIn(name)
    },
    /**
     * The name of records that the text of a filter stands for: an address is that of the person who had it at the last sign-in.
     * Any other text is a name itself, and so is the address of a record of before with its prefix: `console:ama@example.com`.
     */
    async recordNameOf(text: string): Promise<string> {
      if (/^https?:\/\/[^#]+#/.test(text)) return recordName(text)
      if (!text.includes('@') || text.startsWith(prefix)) return text
      const latest = await findPersonOfEmail(db, text)
      return recordName(latest?.person ?? text)
    },
  }
}

/** The person of a name; a name of the console's own record has no prefix. */
export function personIn(name: string): string {
  return name.startsWith(prefix) ? name.slice(prefix.length) : name
}

/** A person as pages show them. */
export function shownName(one: { person: string; email: string; displayName: string }): string {
  const { person, email, displayName } = one
  if (email !== '') return email
  const subject = person.slice(person.indexOf('#') + 1)
  return displayName === subject ? subject : `${displayName} (${subject})`
}
