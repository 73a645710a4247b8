// Every page in a real browser: for every eye, by keyboard, on a phone and on wide screens, in the light and in the dark.
import { it } from 'vitest'
import { pages } from './every-page.ts'
import {
  describeInTab,
  expectKeyboardReachesAll,
  expectKeysMoveOverRows,
  expectSoundPage,
} from './tab.ts'

describeInTab((tab) => {
  it.each(Object.entries(pages))(
    'the page of %s is small, accessible and of one origin, in the light on a phone and in the dark on a wide screen, and a keyboard reaches all of it',
    async (name, pathOf) => {
      const path = pathOf(tab().harness.peers)
      await expectSoundPage(tab(), path)
      // Rows that go while the keyboard is on them would take it with them.
      if (name === 'the live tail') await tab().page.getByRole('button', { name: 'Pause' }).click()
      await expectKeyboardReachesAll(tab().page)
      await expectKeysMoveOverRows(tab().page)
    },
  )

  it('the page on which a person of the sandbox is chosen is as sound as the others', async () => {
    await expectSoundPage(tab(), '/sign-in')
    await expectKeyboardReachesAll(tab().page)
  })

  it('header and navigation are reached by keyboard before the page, which a link skips to', async () => {
    const page = await tab().open('/now')
    await expectKeyboardReachesAll(page, 'body')
  })
})
