// The people of a sandbox whom a developer pays or is paid by, and what each does as a payer.
import { code, type Section, text } from '../../pages/blocks.ts'

/** By number: their name where they have an account, and how they pay. docs/integrate/sandbox.md has all of it. */
export const sandboxPeople: readonly { number: string; name: string; pays: string }[] = [
  { number: '+12025550100', name: 'Ama Mensah', pays: 'by hand, on the hosted page' },
  { number: '+12025550101', name: 'Kofi Boateng', pays: 'after 1 s' },
  { number: '+12025550102', name: 'Esi Owusu', pays: 'never: is declined five times' },
  { number: '+12025550103', name: 'Yaw Darko', pays: 'by hand, on the hosted page' },
  { number: '+12025550105', name: 'Abena Sarpong', pays: 'after 5 s' },
  { number: '+12025550106', name: 'Kwame Asante', pays: 'never: the fraud check blocks them' },
  { number: '+12025550108', name: '', pays: 'never: does not act' },
  { number: '+12025550112', name: '', pays: '2 s after the request was cancelled' },
]

/** What the page of the developers shows of them. */
export const peopleSection: Section = {
  heading: 'People of the sandbox',
  note: 'By hand: the wallet PIN 123456 or the card 4242 4242 4242 4242 pays, every other one is refused. All other numbers pay by hand and have no account.',
  table: {
    head: ['Number', 'Account of', 'Pays'],
    empty: 'Nobody.',
    rows: sandboxPeople.map(({ number, name, pays }) => [code(number), text(name), text(pays)]),
  },
}
