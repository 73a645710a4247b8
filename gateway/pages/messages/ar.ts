// The texts of hosted pages in Arabic, written from right to left; no markup.

import type { Messages } from './en.ts'
/** Arabic. What is filled in is isolated (U+2068, U+2069), so that an amount or a Latin name keeps its own direction. */
export const ar: Messages = {
  languageName: 'العربية',
  chooseLanguage: 'اللغة',

  openTitle: 'طلب دفع',
  refusedTitle: 'رُفض الدفع: يمكنك المحاولة مرة أخرى',
  refusedText: 'رُفضت المحاولة الأخيرة ولم يُخصم أي مبلغ. المحاولات المتبقية: \u2068{count}\u2069.',
  partOfText: 'هذه حصتك من طلب إجماليه \u2068{whole}\u2069.',
  partlyPaidText:
    'دفع آخرون \u2068{paid}\u2069 من أصل \u2068{whole}\u2069. المتبقي للدفع \u2068{rest}\u2069، وحصتك منه \u2068{amount}\u2069.',
  processingTitle: 'تجري معالجة دفعتك',
  processingText: 'يرجى الانتظار وعدم الدفع مرة أخرى. تتجدد هذه الصفحة تلقائيًا.',
  paidTitle: 'تم الدفع',
  paidText: 'شكرًا لك. تم إبلاغ التاجر.',
  yourPartPaidTitle: 'دُفعت حصتك',
  yourPartPaidText:
    'شكرًا لك. دُفع حتى الآن \u2068{paid}\u2069 من أصل \u2068{whole}\u2069. لا يزال على آخرين دفع \u2068{rest}\u2069.',
  paidOfWhole: 'المدفوع: \u2068{paid}\u2069 من أصل \u2068{whole}\u2069',
  cancelledTitle: 'أُلغي طلب الدفع هذا',
  cancelledText: 'ألغاه التاجر. لم يعد الدفع ممكنًا هنا.',
  expiredTitle: 'انتهت صلاحية طلب الدفع هذا',
  expiredText: 'انتهت مهلة الدفع. اطلب رابطًا جديدًا من التاجر.',
  failedTitle: 'فشلت عملية الدفع هذه',
  failedText: 'لم يعد الدفع ممكنًا هنا. اطلب رابطًا جديدًا من التاجر.',
  refundedTitle: 'أموالك في طريقها إليك',
  refundedText: 'تم رد المبلغ المدفوع.',

  amount: 'المبلغ',
  fee: 'الرسوم',
  total: 'الإجمالي',
  payUntil: 'الدفع قبل',
  waysToPay: 'طرق الدفع',

  cash: 'نقدًا',
  card: 'بطاقة',
  wallet: 'محفظة الهاتف',
  credit: 'بطاقة ائتمان',
  debit: 'بطاقة خصم مباشر',
  qr_code: 'رمز الاستجابة السريعة',
  payWith: 'ادفع بواسطة: \u2068{method}\u2069',

  scanTitle: 'امسح الرمز للدفع',
  scanText: 'امسح هذا الرمز بكاميرا الهاتف أو افتح هذا الرابط:',
  qrLabel: 'رمز استجابة سريعة لعنوان هذه الصفحة',

  walletTitle: 'ادفع من محفظة هاتفك',
  pinLabel: 'الرقم السري للمحفظة',
  pinHint: 'من 4 إلى 12 رقمًا',
  mistakeTitle: 'يرجى تصحيح ما يلي',
  pinMistake: 'يتكون الرقم السري من 4 إلى 12 رقمًا. لم يُدفع أي مبلغ.',
  pay: 'ادفع \u2068{total}\u2069',

  cardTitle: 'ادفع بالبطاقة',
  cardFrame: 'نموذج البطاقة لدى مزوّد خدمة الدفع',
  cardUnavailable: 'نموذج البطاقة غير متاح حاليًا. يرجى المحاولة بعد دقيقة.',

  agentTitle: 'ادفع لدى وكيل',
  agentText: 'أظهر هذا الرمز عند الوكيل، على الشاشة أو مطبوعًا:',
  print: 'طباعة هذه الصفحة',

  refresh: 'تحديث هذه الصفحة',
  backTo: 'العودة إلى \u2068{merchant}\u2069',
  openPage: 'فتح صفحة الدفع',

  notFoundTitle: 'غير موجود',
  notFoundText: 'لا يوجد شيء في هذا العنوان. تحقق من الرابط أو اطلب رابطًا جديدًا ممن أرسله إليك.',
  unavailableTitle: 'يرجى المحاولة مرة أخرى',
  unavailableText: 'الصفحة غير متاحة حاليًا.',
  foreignFormTitle: 'يرجى فتح الرابط مرة أخرى',
  foreignFormText: 'لم يُرسل هذا النموذج من صفحته، أو أنه قديم جدًا.',
  tooManyTitle: 'طلبات كثيرة جدًا',
  tooManyText: 'يرجى الانتظار قليلًا ثم المحاولة مرة أخرى.',
}
