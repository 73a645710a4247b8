// Statements on people: who a name of the records stands for.
import { type Queryable, sql } from '#platform/db/db.ts'

/** Someone who has signed in. */
export type StoredPerson = {
  /** `issuer#subject` of the identity provider. */
  person: string
  /** The address that the provider has verified; empty for none. */
  email: string
  displayName: string
}

const upsertStatement = sql(
  'upsert_person',
  `insert into person (person, email, display_name) values ($1, $2, $3)
   on conflict (person) do update
     set email = excluded.email, display_name = excluded.display_name, sign_in_time = clock_now()`,
)
/** Stores how a person is shown from now on. Locks their row. */
export async function upsertPerson(db: Queryable, one: StoredPerson): Promise<void> {
  await db.run(upsertStatement, [one.person, one.email, one.displayName])
}

const columns = `person, email, display_name as "displayName"`
const findStatement = sql('find_people', `select ${columns} from person where person = any ($1)`)
/** The people with these ids, as far as they have signed in. Locks nothing. */
export function findPeople(db: Queryable, ids: string[]): Promise<StoredPerson[]> {
  return db.rows(findStatement, [ids])
}

const ofEmailStatement = sql(
  'find_person_of_email',
  `select ${columns} from person where email <> '' and lower(email) = lower($1)
   order by sign_in_time desc limit 1`,
)
/** Who signed in last of the people with this address. Locks nothing. */
export function findPersonOfEmail(db: Queryable, email: string): Promise<StoredPerson | undefined> {
  return db.row(ofEmailStatement, [email])
}
