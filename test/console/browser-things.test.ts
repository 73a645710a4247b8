// Pages of one thing of a project, in a real browser: for every eye, on a phone and a wide screen, in the dark.
import { it } from 'vitest'
import { describeInTab, expectSoundPage, projectBase, type Tab } from './tab.ts'

const demo = (tab: Tab) => tab.harness.peers.projects.demo

const pages = {
  'a payment': (tab: Tab) => `${projectBase(tab)}/payments/${demo(tab).payment.paymentId}`,
  'a customer': (tab: Tab) => `${projectBase(tab)}/customers/${demo(tab).customer.accountId}`,
  'personal data': (tab: Tab) =>
    `${projectBase(tab)}/customers/${demo(tab).customer.accountId}/personal`,
  'a bill payment': (tab: Tab) => `${projectBase(tab)}/bills/${demo(tab).bill.transactionId}`,
  'a transfer': (tab: Tab) => `${projectBase(tab)}/transfers/${demo(tab).transfer.movementId}`,
  'a request': (tab: Tab) => `${projectBase(tab)}/api-log/${demo(tab).request.entryId}`,
  'one push': (tab: Tab) => `${projectBase(tab)}/pushes/${demo(tab).delivery.deliveryId}`,
  'a replay': (tab: Tab) => `${projectBase(tab)}/pushes/replays/${demo(tab).job.jobId}`,
  'a page that does not exist': () => '/nowhere',
}

describeInTab((tab) => {
  it.each(Object.entries(pages))(
    'the page of %s is small, accessible and of one origin, in the light on a phone and in the dark on a wide screen',
    (_, path) => expectSoundPage(tab(), path(tab())),
  )
})
