// Pages that change by themselves, in a real browser: a live tail under a flood of changes, and a replay.
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { expect, it } from 'vitest'
import { ReplayJobState } from '#gen/payweave/delivery/v1/replay_pb.js'
import { expectAccessible, follow } from '../browser/visit.ts'
import { eventually } from '../support/eventually.ts'
import { time } from './rows.ts'
import { describeInTab, projectBase } from './tab.ts'

describeInTab((signedIn) => {
  it('a live tail shows the newest of a flood, and stands still when it is paused', async () => {
    const tab = signedIn()
    const page = await tab.open(`${projectBase(tab)}/pushes/tail`)
    const first = page.locator('#tail tbody tr').first()
    await eventually(async () => expect(await first.textContent()).toContain('1000'))
    expect(await page.locator('#tail tbody tr').count()).toBe(200)
    await page.getByRole('button', { name: 'Pause' }).click()
    expect(await page.getByRole('button', { name: 'Pause' }).getAttribute('aria-pressed')).toBe(
      'true',
    )
    await expectAccessible(page)
  })

  it('a live tail shows when an attempt ended, which may be long after it began', async () => {
    const tab = signedIn()
    const [attempt] = tab.harness.peers.projects.demo.delivery.attempts
    if (attempt === undefined) throw new Error('a push that was tried')
    const usualMs = attempt.durationMs
    attempt.durationMs = 15_000
    try {
      const page = await tab.open(`${projectBase(tab)}/pushes/tail`)
      const ended = page.locator('#tail tbody tr').first().locator('[data-label=Ended]')
      const endedMs = Date.parse((await ended.getAttribute('title')) ?? '')
      expect(endedMs).toBe(timestampMs(time) + 15_000)
    } finally {
      attempt.durationMs = usualMs
    }
  })

  it('a live tail counts what it drops during a pause as missed', async () => {
    const tab = signedIn()
    const page = await tab.open(`${projectBase(tab)}/pushes/tail`)
    const first = page.locator('#tail tbody tr').first()
    const state = page.locator('#tail-state')
    await eventually(async () => expect(await first.textContent()).toContain('1000'))
    expect(await state.textContent()).toBe('connected')
    await page.getByRole('button', { name: 'Pause' }).click()
    tab.harness.peers.tail.more.resolve({ count: 230 })
    await eventually(async () =>
      expect(await state.textContent()).toBe('connected; 30 changes were missed'),
    )
    expect(await first.textContent()).toContain('1000')
    await page.getByRole('button', { name: 'Pause' }).click()
    await eventually(async () => expect(await first.textContent()).toContain('1230'))
    expect(await state.textContent()).toBe('connected; 30 changes were missed')
  })

  it('a live tail takes 200 changes a second for seconds, misses none and leaves the page usable', async () => {
    const tab = signedIn()
    const { tail } = tab.harness.peers
    tail.more = Promise.withResolvers()
    const page = await tab.open(`${projectBase(tab)}/pushes/tail`)
    const first = page.locator('#tail tbody tr').first()
    const newest = async () => Number(await first.locator('[data-label=Attempt]').textContent())
    await eventually(async () => expect(await newest()).toBe(1_000))
    tail.more.resolve({ count: 600, perS: 200 })
    await eventually(async () => expect(await newest()).toBeGreaterThan(1_000))
    await page.keyboard.press('?')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    expect(await page.getByRole('dialog').count()).toBe(0)
    await eventually(async () => expect(await newest()).toBe(1_600))
    expect(await page.locator('#tail tbody tr').count()).toBe(200)
    expect(await page.locator('#tail-state').textContent()).toBe('connected')
  })

  it('a part that changes by itself is renewed without a reload', async () => {
    const tab = signedIn()
    const { job } = tab.harness.peers.projects.demo
    const page = await tab.open(`${projectBase(tab)}/pushes/replays/${job.jobId}`)
    expect(await page.locator('#live').textContent()).toContain('7 pushes')
    job.replayedCount = 8n
    await page.getByText('8 pushes').waitFor()
    job.replayedCount = 7n
  })

  it('the page of a replay says so when its progress is not followed any more', async () => {
    const tab = signedIn()
    const { job } = tab.harness.peers.projects.demo
    const page = await tab.open(`${projectBase(tab)}/pushes/replays/${job.jobId}`)
    expect(await page.locator('#live-state').textContent()).toBe('')
    tab.harness.stopped.set('delivery', 'refuses')
    try {
      await page.getByText('Progress updates have stopped. Reload the page.').waitFor()
    } finally {
      tab.harness.stopped.clear()
    }
    await expectAccessible(page)
  })

  it('a replay that somebody pauses offers to resume it, without a reload by hand', async () => {
    const tab = signedIn()
    const { job } = tab.harness.peers.projects.demo
    const page = await tab.open(`${projectBase(tab)}/pushes/replays/${job.jobId}`)
    await page.getByRole('button', { name: 'Pause' }).waitFor()
    job.state = ReplayJobState.PAUSED
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    expect(await page.getByRole('button', { name: 'Pause' }).count()).toBe(0)
    await follow(page, () => page.getByRole('button', { name: 'Resume' }).click())
    expect(tab.harness.peers.calls.map(({ rpc }) => rpc)).toContain('ResumeReplayJob')
    job.state = ReplayJobState.RUNNING
  })
})
