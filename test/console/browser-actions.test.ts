// Actions of the console in a real browser: the form of a page as it is, filled in where it must be, reaches its RPC.
// Claims, approvals of bills, triggers, the preview of a branding and signing out have tests without a browser.
import { expect, it } from 'vitest'
import { fillIn } from '../browser/in-page.js'
import { follow } from '../browser/visit.ts'
import { eventually } from '../support/eventually.ts'
import { type Action, actionsOf } from './people/actions.ts'
import { usualTexts } from './rows.ts'
import { describeInTab, projectBase, type Tab } from './tab.ts'

/** The actions by role, both decisions on the approval of a refund, and the release of a claim. */
function browserActions(tab: Tab): Action[] {
  const { peers } = tab.harness
  const page = `${projectBase(tab)}/approvals`
  const approval = (post: string, rpc: string): Action => ({
    page,
    post: `${peers.approvals.refunds.approvalId}/${post}`,
    rpc: `payweave.approvals.v1.ApprovalService/${rpc}`,
  })
  const claim = (post: string, rpc: string): Action => ({
    page: '/inbox',
    post,
    rpc: `payweave.accounts.v1.ItemClaimService/${rpc}`,
  })
  return [
    approval('approve', 'Approve'),
    approval('reject', 'Reject'),
    claim('releases', 'ReleaseItem'),
    ...actionsOf(peers),
  ]
}

describeInTab((signedIn) => {
  it('the actions by role, the decisions on a refund and the release of a claim work in a browser, without an error of a script or a policy', {
    timeout: 120_000,
  }, async () => {
    const tab = signedIn()
    const { peers } = tab.harness
    // The person who acts has claimed every item of the Inbox.
    peers.holders.clear()
    for (const { page: path, post, rpc, fields, when } of browserActions(tab)) {
      const usual = when?.thing.state ?? 0
      if (when !== undefined) when.thing.state = when.state
      // Most actions lead back to their page, which has the next one.
      const isThere = when === undefined && new URL(tab.page.url()).pathname === path
      const page = isThere ? tab.page : await tab.open(path)
      const form = page.locator(`form[action="${path}/${post}"]`).first()
      // A part of a page is missing when its service answers late.
      await eventually(async () => {
        if ((await form.count()) > 0) return true
        await tab.open(path)
        return false
      })
      const id = await form.evaluate(fillIn, fields ?? {})
      const button = id === '' ? form.locator('button') : page.locator(`button[form="${id}"]`)
      peers.calls.length = 0
      await follow(page, () => button.first().click())
      if (when !== undefined) when.thing.state = usual
      const isReached = peers.calls.some((call) => rpc.endsWith(`/${call.rpc}`))
      const seen = { rpc, isReached, title: await page.title(), complaints: tab.complaints() }
      const title = expect.not.stringMatching(/cannot be read|may not|Not found|wrong|possible/)
      expect(seen).toEqual({ rpc, isReached: true, title, complaints: [] })
    }
  })
}, usualTexts)
