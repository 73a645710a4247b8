// Pages of the staff in a real browser: for every eye, on a phone and a wide screen, in the dark.
import { it } from 'vitest'
import { describeInTab, expectSoundPage, type Tab } from './tab.ts'

const pages = {
  now: () => '/now',
  'a runbook': () => '/now/runbooks/part-down',
  'the projects': () => '/',
  'the inbox': () => '/inbox',
  'the approvals': () => '/approvals',
  'a new customer': ({ harness: { peers } }: Tab) => `/inbox/onboardings/${peers.staff.reviewId}`,
  'what is stuck': () => '/stuck',
  'the receivers of all projects': () => '/receivers',
  'the dead letters': () => '/dead-letters',
  'the dead letters of events': () => '/dead-letters/events',
  'the decisions about events': () => '/dead-letters/events/decisions',
  'the API log of all projects': () => '/api-log',
  'the ledger': ({ harness: { peers } }: Tab) =>
    `/ledger?project=${peers.staff.projectId}&id=${peers.staff.transferId}`,
  'the catalogue': () => '/catalogue',
  'the routing': () => '/routing',
  'the audit': () => '/audit',
  'the audit of the catalogue': () => '/audit/catalogue',
  'the calls of people': () => '/audit/calls',
}

describeInTab((tab) => {
  it.each(Object.entries(pages))(
    'the page of %s is small, accessible and of one origin, in the light on a phone and in the dark on a wide screen',
    (_, path) => expectSoundPage(tab(), path(tab())),
  )
})
