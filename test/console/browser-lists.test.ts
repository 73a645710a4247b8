// Pages of a project that list things, in a real browser: for every eye, on a phone and a wide screen, in the dark.
import { it } from 'vitest'
import { describeInTab, expectSoundPage, projectBase, type Tab } from './tab.ts'

const pages = {
  'the day': (tab: Tab) => projectBase(tab),
  'the pushes': (tab: Tab) => `${projectBase(tab)}/pushes`,
  'the replays': (tab: Tab) => `${projectBase(tab)}/pushes/replays`,
  'the payments': (tab: Tab) => `${projectBase(tab)}/payments`,
  'the receivers': (tab: Tab) => `${projectBase(tab)}/receivers`,
  'the API log': (tab: Tab) => `${projectBase(tab)}/api-log`,
  'the developers': (tab: Tab) => `${projectBase(tab)}/developers`,
  'the triggers': (tab: Tab) => `${projectBase(tab)}/developers/triggers`,
  'the access': (tab: Tab) => `${projectBase(tab)}/access`,
  'the branding': (tab: Tab) => `${projectBase(tab)}/branding`,
  'the transfers': (tab: Tab) => `${projectBase(tab)}/transfers`,
  'the quotes': (tab: Tab) => `${projectBase(tab)}/quotes`,
  'the customers': (tab: Tab) => `${projectBase(tab)}/customers?by=mobile&value=%2B12025550101`,
  'the bills': (tab: Tab) => `${projectBase(tab)}/bills`,
  'the balances': (tab: Tab) => `${projectBase(tab)}/balances`,
}

describeInTab((tab) => {
  it.each(Object.entries(pages))(
    'the page of %s is small, accessible and of one origin, in the light on a phone and in the dark on a wide screen',
    (_, path) => expectSoundPage(tab(), path(tab())),
  )
})
